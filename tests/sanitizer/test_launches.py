"""Every operation is launched under its name, and a failure is named."""

from __future__ import annotations

import pytest
import torch

from kernels.table.registry import GENERAL, OPS
from tests.sanitizer.launch_all_kernels import main, operations
from tests.sanitizer.watch import Watch

CPU = torch.device("cpu")
ERROR = "CUDA error: an illegal memory access was encountered\nSearch for it"


def nothing() -> None:
    """Wait for a device that never fails."""


def samples(name: str) -> int:
    """Return the number of an operation's samples, FP64 included, in both settings of TF32."""
    op = OPS[name]
    assert op.cuda is not None
    wide = torch.float64 in op.cuda.dtypes
    first = [next(x for x in given if isinstance(x, torch.Tensor)) for given in op.samples()]
    return 2 * sum(1 + (wide and x.dtype == torch.float32) for x in first)


def test_operations_are_launched_by_their_names():
    watch = Watch(nothing, only=["add_*", "mean_abs"], without=["*_backward", "add_norm*"])
    operations([GENERAL], watch, CPU)
    names = "add_relu", "add_relu_masked", "add_sigmoid", "mean_abs"
    assert set(names).isdisjoint(watch.left_out)
    assert {"add_norm", "mul_tanh"} <= set(watch.left_out)
    assert watch.launched == {"operations": sum(map(samples, names))}
    assert watch.failed == []


def test_a_launch_that_fails_is_named_and_the_next_ones_go_on():
    left = iter([True])

    def broken() -> None:
        if next(left, False):
            raise RuntimeError("no such grid")

    watch = Watch(nothing)
    watch.launch("layers", "encoder/conv1", 1, broken)
    watch.launch("layers", "encoder/conv2", 0, broken)
    assert watch.failed == ["encoder/conv1 1: no such grid"]
    assert watch.launched == {"layers": 1}
    assert not watch.is_lost


def test_after_a_lost_context_what_was_not_reached_is_told(capsys):
    count = 0

    def finish() -> None:
        nonlocal count
        count += 1
        if count > 3:
            raise RuntimeError(ERROR)

    watch = Watch(finish, only=["add_relu", "mul_tanh", "mean_abs"])
    operations([GENERAL], watch, CPU)
    said = "add_relu 1: CUDA error: an illegal memory access was encountered"
    assert watch.failed == [said]
    assert watch.launched == {"operations": 3}
    assert watch.is_lost
    assert list(watch.not_reached) == ["mul_tanh", "mean_abs"]
    assert capsys.readouterr().out == f"{said}\n"
    *_, failed, lost = watch.report().splitlines()
    assert failed == f"failed: {said}"
    assert "mul_tanh, mean_abs" in lost


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nothing"], "there is no part 'nothing'; expected some of style, "),
        (["style", "--without", "fnn"], "there is no operation 'fnn'"),
    ],
)
def test_what_is_not_there_is_a_sentence(given, said, capsys):
    assert main(given) == 2
    assert said in capsys.readouterr().err


@pytest.mark.gpu
def test_on_a_gpu_chosen_operations_and_layers_are_launched(capsys):
    assert main(["general", "sm80", "--only", "mean_abs", "encoder/*"]) == 0
    launched, left_out = capsys.readouterr().out.splitlines()
    assert not launched.startswith("0 ")
    assert " 0 layers" not in launched
    assert left_out.startswith("left out: ")
