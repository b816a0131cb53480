"""Registry features that a library for any model needs: aliases, writes, drawn state, a family."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

import kernel_fusion as kf
from kernels.jit import build
from kernels.table import autograd, operation
from kernels.table.operation import ALIASES, OPS, Operation, named
from kernels.table.parts import Gradient, Hidden
from kernels.table.registry import GENERAL, STYLE, TRANSFORMER, prepare, statuses

numbers = itertools.count()


@pytest.fixture
def row(monkeypatch):
    """Return a function that registers operations under unique names, in temporary tables."""
    for name, table in (("OPS", dict(OPS)), ("ALIASES", dict(ALIASES))):
        monkeypatch.setattr(operation, name, table)

    def register(signature: Any, **options: Any) -> Any:
        # PyTorch keeps an operation until the process ends.
        signature.__name__ = f"{signature.__name__}_of_library_test_{next(numbers)}"
        return Operation(samples=lambda: (), **options)(signature)

    return register


@pytest.mark.parametrize("name", OPS)
def test_an_argument_of_another_type_is_named_with_the_operation(name):
    op = OPS[name]
    given = list(next(iter(op.samples())))
    for function in (op.operation, op.native):
        argument, *_ = inspect.signature(function).parameters
        with pytest.raises(TypeError, match=f"^{name}: {argument} is of type float; expected"):
            function(2.5, *given[1:])
        with pytest.raises(TypeError, match=f"^{name}: .*(missing|multiple|unexpected|too many)"):
            function(*given, no_argument=1)
    with pytest.raises(TypeError, match=f"^{name}: missing a required argument: '{argument}'"):
        op.operation()


def test_numpy_is_no_tensor():
    with pytest.raises(TypeError, match=r"^add_relu: y is of type ndarray; expected Tensor"):
        kf.ops.add_relu(torch.zeros(3), torch.zeros(3).numpy())  # pyright: ignore[reportArgumentType]


def test_an_alias_is_a_name_of_the_same_row(row):
    def twice(x: Tensor) -> Tensor: ...

    run = row(twice, reference=lambda x: x * 2, aliases=("doubled",))
    found = named("doubled")
    assert found is not None
    assert found.operation is run
    assert found.names == (found.name, "doubled")
    assert [op for op in operation.OPS.values() if op is found] == [found]
    assert not hasattr(torch.ops.styleforge, "doubled")


@pytest.mark.parametrize(("family", "dtype"), [(GENERAL, torch.float32), (STYLE, torch.bfloat16)])
def test_autocast_chooses_what_operations_of_style_networks_alone_multiply_in(row, family, dtype):
    def product(x: Tensor) -> Tensor: ...

    run = row(product, reference=lambda x: x @ x, family=family)
    x = torch.rand(3, 3, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y = run(x)
    assert y.dtype == dtype
    (grad,) = torch.autograd.grad(y.float().sum(), x)
    (expected,) = torch.autograd.grad((x @ x).sum(), x)
    torch.testing.assert_close(grad, expected)


@pytest.mark.parametrize("taken", ["add_relu", "elementwise_add_relu"])
def test_a_name_that_is_taken_is_refused(row, taken):
    def twice(x: Tensor) -> Tensor: ...

    with pytest.raises(ValueError, match=f"there is already an operation named {taken}"):
        row(twice, reference=lambda x: x * 2, aliases=(taken,))


def decayed(xs: list[Tensor], factor: float) -> None: ...


def decay(xs: list[Tensor], factor: float) -> None:
    for x in xs:
        x.mul_(factor)


@pytest.mark.parametrize("inference", [False, True])
def test_writes_into_a_list_are_seen_by_autograd(row, inference):
    run = row(decayed, reference=decay, mutates=("xs",))
    w = torch.ones(3, requires_grad=True)
    xs = [torch.ones(3), torch.ones(2)]
    y = (w * xs[0]).sum()
    before = [x._version for x in xs]
    with torch.inference_mode(inference):
        run(xs, 0.5)
        if inference:  # as a prepared call, which bypasses the dispatcher
            autograd.count_writes((xs, 0.5), [0])
    assert torch.equal(xs[1], torch.full((2,), 0.5))
    assert all(x._version > old for x, old in zip(xs, before, strict=True))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_writing_into_what_needs_a_gradient_is_refused(row):
    run = row(decayed, reference=decay, mutates=("xs",))
    with pytest.raises(RuntimeError, match="writes into its arguments and has no gradient"):
        run([torch.ones(3), torch.ones(3, requires_grad=True)], 0.5)


def test_a_native_kernel_in_inference_mode_counts_its_writes():
    x, y = torch.randn(1, 4, 8, 8), torch.empty(1, 4, 8, 8)
    op = OPS["fused_instance_norm_out"]
    arguments = (x, None, None, None, 1e-5, False, 0, "reflect", False, y)
    assert op.mutates == ("out",)
    before = y._version
    with torch.inference_mode():
        op.operation(*arguments)
    assert y._version > before


def split(x: Tensor) -> list[Tensor]: ...


def test_a_list_of_results_has_gradients(row):
    run = row(split, reference=lambda x: [x * 2, x * x])
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert isinstance(run(x), list)
    assert torch.autograd.gradcheck(lambda x: tuple(run(x)), x)


def test_what_a_caller_leaves_out_is_drawn_before_the_dispatcher_sees_the_call(row):
    def noisy(x: Tensor, noise: Tensor | None = None) -> Tensor: ...

    def complete(x: Tensor, noise: Tensor | None = None) -> tuple[Any, ...]:
        return x, torch.rand(x.shape) if noise is None else noise

    run = row(noisy, reference=lambda x, noise: x + noise, complete=complete)
    x = torch.zeros(5)
    torch.manual_seed(3)
    first = run(x)
    torch.manual_seed(3)
    assert torch.equal(run(x), first)
    assert torch.equal(run(x, noise=first), first)
    overload = operation.OPS[next(reversed(operation.OPS))].overload
    assert torch.equal(overload(x, first), first)


def test_a_call_updates_a_tensor_while_the_operation_has_a_gradient(row):
    def counted(x: Tensor, total: Tensor) -> Tensor: ...

    def update(given: Any, results: tuple[Tensor, Tensor]) -> None:
        with torch.no_grad():
            given[1].add_(results[1])

    run = row(
        counted,
        reference=lambda x, total: (x * 2, x.sum()),
        hidden=Hidden(1, update),
        gradient=Gradient(lambda given, _: [], lambda kept, grad: [grad * 2, None], statistics=1),
    )
    x, total = torch.ones(3, requires_grad=True), torch.zeros(())
    y = run(x, total)
    y.sum().backward()
    assert torch.equal(total, torch.tensor(3.0))
    assert x.grad is not None
    assert torch.equal(x.grad, torch.full((3,), 2.0))


def test_an_update_without_hidden_results_is_refused():
    with pytest.raises(ValueError, match="hidden results"):
        Hidden(update=lambda given, results: None)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_program_asks_for_no_library_of_operations_for_any_model(device, monkeypatch):
    asked: list[str] = []

    def load(library: str, **_: Any) -> bool:
        asked.append(library)
        return False

    monkeypatch.setattr(build, "load_built", load)
    monkeypatch.setattr(build, "load", load)
    for family in (STYLE, TRANSFORMER):
        prepare(family=family)
        listed = {status.name for status in statuses(device, family)}
        assert not listed & {op.name for op in OPS.values() if op.family == GENERAL}
    assert not {"elementwise", GENERAL} & set(asked)
    assert {s.name for s in statuses("cpu", GENERAL)} == {
        op.name for op in OPS.values() if op.family == GENERAL
    }
    assert "elementwise" in asked


@pytest.mark.full
def test_importing_the_library_loads_and_initializes_nothing():
    code = (
        "import torch, kernel_fusion as kf\n"
        "from kernels.jit import build\n"
        "from kernels.jit.libraries import LIBRARIES\n"
        "assert not any(build.origin(name) for name in LIBRARIES)\n"
        "assert not torch.cuda.is_initialized()\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=100)


def test_the_status_says_what_is_native_what_is_not_and_why():
    found = kf.status()
    assert torch.cuda.is_available() == found.cuda_available == kf.CUDA_AVAILABLE
    assert found.extension_loaded == kf.EXTENSION_LOADED
    assert {row.name for row in found.operations["cpu"]} >= set(OPS)
    assert ("cuda" in found.operations) == found.cuda_available
    text = str(found)
    for row in found.operations["cpu"]:
        (line,) = (each for each in text.splitlines() if f"cpu   {row.name} " in each)
        assert row.runs in line
        assert row.reason in line


def test_a_family_is_known_by_its_earlier_name_and_others_are_refused():
    assert statuses("cpu", "library") == statuses("cpu", "general")
    with pytest.raises(ValueError, match=r"no family 'libary'; expected one of style, .*general"):
        statuses("cpu", "libary")
