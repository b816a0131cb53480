"""The testable part of the promises about speed: memory and errors. `bench` measures times."""

from __future__ import annotations

import pytest
import torch

from benchmarks.operations import library_cases, measure
from benchmarks.operations.case import DTYPES, Case, Run, results
from benchmarks.operations.ways import EAGER, OURS, size_of
from kernels.table.autograd import tensors_of
from kernels.table.registry import GENERAL, Operation, prepare
from tests.helpers.daily import matrix

CPU = torch.device("cpu")
# Relative to the largest value, in FP32. Other families may have twice the error of PyTorch's
# calls, plus rounding.
PROMISED = {"elementwise": 1e-6, "fusion": 1e-5, "reduction": 1e-5}
ROUNDING = {"FP32": 2**-19, "BF16": 2**-8}
# Bytes saved beyond PyTorch's calls, relative to the arguments: the blocks of keys and values that
# each block of queries reads; a count; and the values that a window's result is compared with.
KEPT_MORE = {"block_sparse_attention": 2.0, "block_sparse_forward": 1e-5, "sliding_window": 0.25}


@pytest.fixture(scope="module", autouse=True)
def native() -> None:
    prepare(family=GENERAL)


def case_of(op: Operation, precision: str, rows: int, columns: int) -> Case:
    precisions = {precision: DTYPES[precision]}
    (case,) = library_cases.cases(CPU, [op], [(rows, columns)], precisions)
    return case


def kept_bytes(case: Case, way: Run) -> int | None:
    """Return the bytes that a call saves for its gradient, without its arguments; None if none."""
    given = measure.following(case, case.given)
    own = {x.data_ptr() for x in tensors_of(given)}

    def differentiable() -> list[torch.Tensor]:
        return [y for y in results(way(*given)) if y.requires_grad]

    if not differentiable():
        return None
    kept = measure.distinct(measure.kept(differentiable))
    return size_of([x for x in kept if x.data_ptr() not in own])


@pytest.mark.slow
@matrix({"op": library_cases.operations(), "precision": ROUNDING}, meeting=1)
def test_it_is_as_exact_as_what_it_is_timed_against(op: Operation, precision: str):
    row = measure.measured(case_of(op, precision, 64, 128), CPU, 1, compiles=False)
    passes = [row[name] for name in ("forward", "backward", "both") if name in row]
    assert passes
    for found in passes:
        assert min(found["ms"][way]["median"] for way in (OURS, EAGER)) > 0
        error = found["error"]
        allowed = 2 * error.get(EAGER, ROUNDING[precision]) + ROUNDING[precision]
        if precision == "FP32":
            allowed = PROMISED.get(op.group, allowed)
        assert error[OURS] <= allowed


@pytest.mark.slow
@pytest.mark.parametrize("op", library_cases.operations(), ids=lambda op: op.name)
def test_it_keeps_no_more_for_its_gradient_than_pytorchs_calls(op: Operation):
    case = case_of(op, "FP32", 256, 512)
    ours, eager = kept_bytes(case, op.operation), kept_bytes(case, case.eager)
    assert (ours is None) == (eager is None)
    more = KEPT_MORE.get(op.name, 0) * size_of(list(tensors_of(case.given)))
    assert ours is None or eager is None or ours <= eager + more


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "share"),
    [("add_relu", 1 / 32), ("layer_norm_relu", 1 / 100), ("batch_norm_relu", 1 / 100),
     ("group_norm_relu", 1 / 32), ("cross_entropy", 1 / 1000), ("apply_rope", 0)],
)  # fmt: skip
def test_what_a_gradient_needs_is_little_where_it_is_computed_again(name: str, share: float):
    (op,) = (each for each in library_cases.operations() if each.name == name)
    case = case_of(op, "FP32", 256, 512)
    ours, eager = kept_bytes(case, op.operation), kept_bytes(case, case.eager)
    assert ours is not None
    assert eager is not None
    assert ours <= share * eager
