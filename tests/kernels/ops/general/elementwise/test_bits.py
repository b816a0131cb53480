"""The CPU saves one bit per element for backward: relu's results and dropout's kept elements."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import kernel_fusion as kf
from kernels.ops.general.elementwise import bits, dropped, masked
from kernels.table.registry import prepare
from tests.helpers.daily import matrix

TYPES = torch.float32, torch.float16, torch.bfloat16
DTYPES = pytest.mark.parametrize("dtype", TYPES, ids=str)
SHAPES = (8,), (3, 40), (7, 1032), (1 << 10, 1 << 12)  # the last one bypasses the caches in FP32
STATE = torch.tensor([5 << 33, 7])
DROPOUTS: dict[str, Any] = {
    "gelu_dropout": kf.ops.gelu_dropout,
    "attention_dropout": kf.ops.attention_dropout,
}


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    for status in prepare(["add_relu_masked", "dropout_masked"]):
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)
        assert status.ready, status


def normal(seed: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def kept_by(run: Any) -> tuple[Any, list[Tensor]]:
    kept: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        return run(), kept


@DTYPES
def test_of_an_addition_the_bits_are_those_of_the_reference(dtype):
    for shape in SHAPES:
        x, y = normal(0, shape, dtype), normal(1, shape, dtype)
        x.view(-1)[1], y.view(-1)[0] = torch.nan, -x.view(-1)[0]
        result, mask = kf.kernels.elementwise.add_relu_masked(x, y)
        expected, wanted = masked.reference(x, y)
        assert torch.equal(result.nan_to_num(7), expected.nan_to_num(7))
        assert torch.equal(mask, wanted)
        grad = y.fill_(torch.inf)
        found = kf.kernels.elementwise.relu_mask_backward(grad, mask)
        assert torch.equal(found, masked.backward_reference(grad, mask))


@DTYPES
def test_an_addition_on_a_cpu_keeps_bits_alone(dtype):
    x, y = (normal(seed, (4, 10), dtype).requires_grad_() for seed in range(2))
    result, kept = kept_by(lambda: kf.ops.add_relu(x, y))
    assert [(each.dtype, each.numel()) for each in kept] == [(torch.uint8, 5)]
    grad = normal(2, (4, 10), dtype)
    of_x, of_y = torch.autograd.grad(result, (x, y), grad)
    assert torch.equal(of_x, torch.where(result > 0, grad, 0.0))
    assert torch.equal(of_x, of_y)


@matrix({"dtype": TYPES, "function": DROPOUTS}, meeting=1)
def test_what_dropout_dropped_has_the_gradient_of_its_numbers(dtype, function):
    for shape in (*SHAPES, (5,), (3, 7)):
        x, grad = normal(0, shape, dtype).requires_grad_(), normal(1, shape, dtype)
        result, kept = kept_by(lambda x=x: DROPOUTS[function](x, 0.3, True, STATE))
        mask = next(each for each in kept if each.dtype == torch.uint8)
        assert mask.numel() == -(-x.numel() // bits.OF_BYTE)
        assert torch.equal(mask, dropped.meaning(x.detach(), function, 0.3, STATE)[1])
        with torch.no_grad():
            assert torch.equal(result, DROPOUTS[function](x, 0.3, True, STATE))
        (found,) = torch.autograd.grad(result, x, grad)
        drawn = kf.ops.elementwise_backward(grad, [x.detach()], function, [True], 0.3, STATE)
        assert torch.equal(found, drawn[0])  # drawing the numbers again yields the same


@pytest.mark.parametrize("function", DROPOUTS)
def test_second_derivatives_of_dropout_are_those_of_its_formula(function):
    x = normal(0, (3, 5), torch.float64).requires_grad_()

    def run(x: Tensor) -> Tensor:
        return kf.ops.dropout_masked(x, function, 0.3, STATE)[0]

    assert torch.autograd.gradcheck(run, (x,))
    assert torch.autograd.gradgradcheck(run, (x,))


def test_bits_that_do_not_fit_are_named():
    x, mask = torch.ones(4, 8), torch.zeros(4, dtype=torch.uint8)
    run = kf.ops.dropout_mask_backward
    with pytest.raises(ValueError, match="function is 'dropout'; expected gelu_dropout"):
        kf.ops.dropout_masked(x, "dropout", 0.3, STATE)
    with pytest.raises(ValueError, match=r"gelu_dropout: p is 2.*expected a probability"):
        kf.ops.dropout_masked(x, "gelu_dropout", 2, STATE)
    with pytest.raises(ValueError, match=r"mask is torch\.uint8 \[3\]; expected .* 32 elements"):
        run(x, None, mask[:3], "attention_dropout", 0.3)
    with pytest.raises(ValueError, match=r"x is None; expected \[4, 8\], as the gradient"):
        run(x, None, mask, "gelu_dropout", 0.3)
    with pytest.raises(ValueError, match=r"x is \[4, 8\]; expected None"):
        run(x, x, mask, "attention_dropout", 0.3)
