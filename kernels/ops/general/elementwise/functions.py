"""The table of elementwise functions: their inputs, results and gradients, in PyTorch.

The gradient formulas are differentiable in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

R = TypeVar("R")
_Two = Callable[[Tensor, Tensor], R]
_Three = Callable[[Tensor, Tensor, Tensor], R]

# Numbered as in StyleforgeElements.
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.float64: 3}


class Function(NamedTuple):
    """A row of the table.

    Attributes:
        name: As in the functors' table in functors.h, in the same order.
        inputs: Names of the tensors, as in the operation's signature, in the order that kernels
            read them.
        gradients: For each distinct gradient, the indices of its inputs; inputs that are added
            share one.
        forward: The function of the inputs; one with dropout also gets the factors of the elements,
            0 for dropped ones and the scale of the others.
        backward: The distinct gradients, from the gradient of the result and the same tensors. The
            result replaces the inputs if the gradients follow from it.
        drops: Whether it has dropout, whose elements are numbered row by row.
        of_result: Whether its gradients follow from its result. Backward then reads that one tensor
            in place of the inputs, as in PyTorch.
    """

    name: str
    inputs: tuple[str, ...]
    gradients: tuple[tuple[int, ...], ...]
    forward: Callable[..., Tensor]
    backward: Callable[..., tuple[Tensor, ...]]
    drops: bool = False
    of_result: bool = False

    @property
    def kept(self) -> tuple[str, ...]:
        """The names, in messages, of the tensors that backward reads besides the gradient."""
        return ("result",) if self.of_result else self.inputs

    @property
    def number(self) -> int:
        """The index in the functors' table."""
        return tuple(FUNCTIONS).index(self.name)


def _relu_gradient(grad: Tensor, v: Tensor) -> Tensor:
    return torch.where(v <= 0, torch.zeros_like(grad), grad)


def _gelu_slope(v: Tensor) -> Tensor:
    below = 0.5 * (1 + torch.erf(v * math.sqrt(0.5)))
    return below + v * torch.exp(-0.5 * v * v) / math.sqrt(2 * math.pi)


def _gelu_tanh_slope(v: Tensor) -> Tensor:
    factor = math.sqrt(2 / math.pi)
    t = torch.tanh(factor * (v + 0.044715 * v * v * v))
    return 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * factor * (1 + 3 * 0.044715 * v * v)


def _product(inner: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return inner * y, inner * x


def _swish_gradients(grad: Tensor, x: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    s = torch.sigmoid(x)
    return grad * gate * (s + x * s * (1 - s)), grad * x * s


def _geglu_gradients(grad: Tensor, x: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    return grad * gate * _gelu_slope(x), grad * F.gelu(x)


def _geglu_tanh_gradients(grad: Tensor, x: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    return grad * gate * _gelu_tanh_slope(x), grad * F.gelu(x, approximate="tanh")


def _mish_gradients(grad: Tensor, x: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    t = torch.tanh(F.softplus(x))
    return grad * scale * (t + x * (1 - t * t) * torch.sigmoid(x)), grad * x * t


def _prelu(x: Tensor, bias: Tensor, alpha: Tensor) -> Tensor:
    v = x + bias
    return torch.where(v > 0, v, v * alpha)


def _prelu_gradients(grad: Tensor, x: Tensor, bias: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    v = x + bias
    return (
        torch.where(v > 0, grad, grad * alpha),
        torch.where(v > 0, torch.zeros_like(grad), grad * v),
    )


def _of_two(
    name: str,
    inputs: tuple[str, str],
    forward: _Two[Tensor],
    backward: _Three[tuple[Tensor, ...]],
    gradients: tuple[tuple[int, ...], ...] = ((0,), (1,)),
) -> Function:
    return Function(name, inputs, gradients, forward, backward)


def _of_sum(name: str, forward: _Two[Tensor], backward: _Two[tuple[Tensor, ...]]) -> Function:
    """Return a function of x + y whose gradient follows from its result."""
    return Function(name, ("x", "y"), ((0, 1),), forward, backward, of_result=True)


def _dropping(
    name: str, x: str, forward: _Two[Tensor], backward: _Three[tuple[Tensor, ...]]
) -> Function:
    return Function(name, (x,), ((0,),), forward, backward, drops=True)


FUNCTIONS = {
    row.name: row
    for row in (
        _of_sum(
            "add_relu",
            lambda x, y: torch.relu(x + y),
            lambda grad, result: (_relu_gradient(grad, result),),
        ),
        _of_two(
            "multiply_relu",
            ("x", "y"),
            lambda x, y: torch.relu(x * y),
            lambda grad, x, y: _product(_relu_gradient(grad, x * y), x, y),
        ),
        _of_sum(
            "add_sigmoid",
            lambda x, y: torch.sigmoid(x + y),
            lambda grad, result: (grad * result * (1 - result),),
        ),
        _of_two(
            "mul_tanh",
            ("x", "y"),
            lambda x, y: torch.tanh(x * y),
            lambda grad, x, y: _product(grad * (1 - torch.tanh(x * y) ** 2), x, y),
        ),
        _of_two(
            "bias_gelu",
            ("x", "bias"),
            lambda x, bias: F.gelu(x + bias),
            lambda grad, x, bias: (grad * _gelu_slope(x + bias),),
            gradients=((0, 1),),
        ),
        _of_two(
            "bias_gelu_tanh",
            ("x", "bias"),
            lambda x, bias: F.gelu(x + bias, approximate="tanh"),
            lambda grad, x, bias: (grad * _gelu_tanh_slope(x + bias),),
            gradients=((0, 1),),
        ),
        _dropping(
            "gelu_dropout",
            "x",
            lambda x, factors: F.gelu(x) * factors,
            lambda grad, x, factors: (grad * factors * _gelu_slope(x),),
        ),
        _of_two(
            "swish_multiply", ("x", "gate"), lambda x, gate: F.silu(x) * gate, _swish_gradients
        ),
        _of_two("mish_scale", ("x", "scale"), lambda x, scale: F.mish(x) * scale, _mish_gradients),
        Function("prelu_bias", ("x", "bias", "alpha"), ((0, 1), (2,)), _prelu, _prelu_gradients),
        _dropping(
            "attention_dropout",
            "scores",
            lambda scores, factors: scores * factors,
            lambda grad, _, factors: (grad * factors,),
        ),
        _of_two("gelu_multiply", ("x", "gate"), lambda x, gate: F.gelu(x) * gate, _geglu_gradients),
        _of_two(
            "gelu_tanh_multiply",
            ("x", "gate"),
            lambda x, gate: F.gelu(x, approximate="tanh") * gate,
            _geglu_tanh_gradients,
        ),
    )
}
