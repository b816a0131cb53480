"""What holds for every operation of the table, checked on the samples of its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import kernel_fusion as kf
from kernels.ops.registry import OPS, Op, prepare, statuses
from kernels.self_test.compile_worker import self_test

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
FUNCTIONS = [op for op in OPS.values() if not op.mutates]  # and return what they compute

pytestmark = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    """FP32 convolutions are FP32."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def ready(op: Op, device: str) -> Op:
    """The operation, built where it can be."""
    status = prepare([op.name])[0]
    if "no C++ compiler" in status.reason:
        pytest.skip(status.reason)
    assert status.ready or status.by_choice, status
    if device == "cuda" and not op.cuda:
        pytest.skip("has no kernel on a GPU")
    return op


def smallest(op: Op, device: str, dtype: torch.dtype | None = None) -> tuple[Any, ...]:
    """The sample of the fewest elements, in FP32 or in `dtype`."""

    def elements(sample: tuple[Any, ...]) -> int:
        return sum(value.numel() for value in sample if isinstance(value, Tensor))

    def is_fp32(sample: tuple[Any, ...]) -> bool:
        return all(value.dtype == torch.float32 for value in sample if isinstance(value, Tensor))

    found = min(filter(is_fp32, op.samples()), key=elements)
    return tuple(value.to(device, dtype) if isinstance(value, Tensor) else value for value in found)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_it_is_found_by_its_name(op, device):
    assert op.name in dir(kf.ops)
    assert getattr(kf.ops, op.name) is op.operation
    assert getattr(getattr(kf.kernels, op.group), op.name) is op.native
    assert op.name in {status.name for status in statuses(device)}


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_it_means_what_its_reference_means(op, device):
    ready(op, device)
    if op.is_composite and device == "cpu":
        pytest.skip("is made of others on the CPU")
    self_test([op], device)


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_two_runs_are_bit_equal(op, device):
    given = smallest(ready(op, device), device)
    first = op.operation(*given)
    assert all(torch.equal(op.operation(*given), first) for _ in range(3))


# PyTorch 2.15 itself reads the gradients of tensors that are no leaves, and warns of it.
@pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_it_is_registered_as_pytorch_wants_it(op, device):
    given = smallest(ready(op, device), device)
    for value in given:
        if isinstance(value, Tensor) and not op.mutates:
            value.requires_grad_()
    # cuDNN may take another algorithm the second time, so gradients differ by rounding.
    torch.library.opcheck(op.overload, given, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_its_gradients_are_right(op, device):
    given = smallest(ready(op, device), device, torch.float64)
    tensors = [value.requires_grad_() for value in given if isinstance(value, Tensor)]

    def run(*tensors: Tensor) -> Tensor:
        rest = iter(tensors)
        return op.operation(
            *(next(rest) if isinstance(value, Tensor) else value for value in given)
        )

    # cuDNN's convolutions backward add in no fixed order on a GPU.
    nondet = 1e-8 if device == "cuda" else 0.0
    assert torch.autograd.gradcheck(run, tensors, atol=1e-4, nondet_tol=nondet, fast_mode=True)
