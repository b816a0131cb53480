"""Properties of every operation in the table, checked on the samples of its row."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
import torch
from torch import Tensor

import kernel_fusion as kf
from kernels.self_test.compile_worker import self_test
from kernels.table.autograd import packed, tensors_of
from kernels.table.registry import GENERAL, OPS, STYLE, Operation, prepare, statuses

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
FUNCTIONS = [op for op in OPS.values() if not op.mutates]  # they return their results


def is_composed(op: Operation) -> bool:
    """Return whether the dispatcher sees other operations, PyTorch's and ours, in its place."""
    return op.family == GENERAL and op.is_composite


def takes_a_list(op: Operation) -> bool:
    parameters = inspect.signature(op.operation).parameters.values()
    return any("Sequence[" in str(each.annotation) for each in parameters)


# One of each family, of lists, that mutates, and composed. Tracing an operation takes seconds.
TRACED_DAILY = {"add_relu", "fused_instance_norm", "sgd_step", "transformer_layer"}
# PyTorch 2.15 itself reads the gradients of non-leaf tensors, and warns about it.
OF_NON_LEAVES = pytest.mark.filterwarnings(
    r"ignore:The \.grad attribute of a Tensor that is not a leaf"
)

# Operations that autocast does not affect.
PLAIN = [op for op in FUNCTIONS if op.family != STYLE and not is_composed(op)]

pytestmark = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    """Keep FP32 convolutions in FP32."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def ready(op: Operation, device: str) -> Operation:
    status = prepare([op.name])[0]
    if "no C++ compiler" in status.reason:
        pytest.skip(status.reason)
    assert status.ready or status.by_choice, status
    if device == "cuda" and not op.cuda:
        pytest.skip("has no kernel on a GPU")
    return op


def smallest(op: Operation, device: str, dtype: torch.dtype | None = None) -> tuple[Any, ...]:
    """Return the sample with the fewest elements, in FP32 or in `dtype`."""

    def elements(sample: tuple[Any, ...]) -> int:
        return sum(value.numel() for value in tensors_of(sample))

    def is_fp32(sample: tuple[Any, ...]) -> bool:
        floating = [value for value in tensors_of(sample) if value.is_floating_point()]
        return all(value.dtype == torch.float32 for value in floating)

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(each) for each in value]
        if not isinstance(value, Tensor):
            return value
        return value.to(device, dtype if value.is_floating_point() else None)

    return tuple(moved(value) for value in min(filter(is_fp32, op.samples()), key=elements))


def results_of(op: Operation, given: tuple[Any, ...]) -> tuple[Tensor, ...]:
    return results(op.operation(*given))


def results(found: Any) -> tuple[Tensor, ...]:
    return (found,) if isinstance(found, Tensor) else tuple(found)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_it_is_found_by_its_name(op, device):
    assert op.name in dir(kf.ops)
    assert getattr(kf.ops, op.name) is op.operation
    assert getattr(getattr(kf.kernels, op.group), op.name) is op.native
    assert op.name in {status.name for status in statuses(device)}


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_it_returns_what_its_signature_declares(op, device):
    given = smallest(ready(op, device), device)
    declared = inspect.signature(op.operation).return_annotation
    assert inspect.signature(op.native).return_annotation == declared
    found = op.operation(*given)
    if declared in (Tensor, None):
        assert type(found) is (Tensor if declared else type(None))
        return
    assert all(isinstance(each, Tensor) for each in found)
    if get_origin(declared) is tuple:
        assert get_args(declared) == (Tensor,) * len(found)
    else:
        assert declared == list[Tensor]


@pytest.mark.parametrize("op", [*filter(takes_a_list, FUNCTIONS)], ids=lambda op: op.name)
def test_a_tuple_is_as_good_as_a_list(op, device):
    given = smallest(ready(op, device), device)
    tuples = (tuple(value) if isinstance(value, list) else value for value in given)
    pairs = zip(results(op.operation(*tuples)), results_of(op, given), strict=True)
    assert all(torch.equal(*pair) for pair in pairs)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_it_means_what_its_reference_means(op, device):
    ready(op, device)
    if op.is_composite and device == "cpu":
        pytest.skip("is made of others on the CPU")
    self_test([op], device)


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_two_runs_are_bit_equal(op, device):
    given = smallest(ready(op, device), device)
    first = results_of(op, given)
    for _ in range(3):
        assert all(map(torch.equal, results_of(op, given), first))


@OF_NON_LEAVES
@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_it_is_registered_as_pytorch_wants_it(op, device):
    opcheck(op, device, "schema", "autograd_registration", "faketensor")


@OF_NON_LEAVES
@pytest.mark.parametrize(
    "op",
    [
        pytest.param(op, marks=[] if op.name in TRACED_DAILY else pytest.mark.full)
        for op in OPS.values()
    ],
    ids=lambda op: op.name,
)
def test_a_compiler_keeps_its_results_and_gradients(op, device):
    # A compiler sees PyTorch's operations instead of a composed one and treats their sizes as
    # usual; checking that with dynamic sizes takes ten times as long.
    opcheck(op, device, f"aot_dispatch_{'static' if is_composed(op) else 'dynamic'}")


def opcheck(op: Operation, device: str, *checks: str) -> None:
    given = smallest(ready(op, device), device)
    for value in tensors_of(given):
        if value.is_floating_point() and not op.mutates:
            value.requires_grad_()
    names = [f"test_{check}" for check in checks]
    # cuDNN may choose another algorithm the second time, so gradients differ by rounding.
    torch.library.opcheck(op.overload, given, test_utils=names, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_autocast_does_not_change_what_kernels_are_given(op, device):
    sample = smallest(ready(op, device), device)
    expected = op.overload(*sample)
    with torch.autocast(device, torch.bfloat16):
        found = op.overload(*sample)
    for ours, theirs in zip(results(found), results(expected), strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_its_gradients_are_right(op, device):
    if op.derived:
        pytest.skip("is itself a gradient: tested through its forward's second derivative")
    given = smallest(ready(op, device), device, torch.float64)
    packing, found = packed(given)
    tensors = list(tensors_of(found))
    for value in tensors:
        if value.is_floating_point():
            value.requires_grad_()

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(x for x in results_of(op, tuple(packing.joined(tensors))) if x.requires_grad)

    # cuDNN's backward convolutions sum in no fixed order on a GPU.
    nondet = 1e-8 if device == "cuda" else 0.0
    assert torch.autograd.gradcheck(run, tensors, atol=1e-4, nondet_tol=nondet, fast_mode=True)
