"""PyTorch references of the elementwise functions and their gradients.

FP16 and BF16 are computed in FP32 and rounded once. The gradient formulas are differentiable in
PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.elementwise.arguments import check, new_result, result_type
from kernels.ops.general.elementwise.functions import FUNCTIONS
from kernels.table.philox import kept_elements, kept_scale


def forward(
    function: str, inputs: Sequence[Tensor], p: float = 0.0, state: Tensor | None = None
) -> Tensor:
    """Compute a function of the table; without a `state`, dropout drops nothing.

    Raises:
        ValueError: Unless the inputs have broadcastable shapes and floating dtypes.
    """
    shape = check(function, inputs)
    wide = _widened(inputs)
    given = (*wide, *_factors(function, wide[0], shape, p, state))
    y = _prelu(*given) if function == "prelu_bias" else _FORWARD[function](*given)
    return _laid_out(function, y, inputs, shape)


def backward(
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the distinct gradients that are `wanted`, in the shape of the function's result.

    The inputs are as in `forward`; only the result if the gradients follow from it.
    """
    shape = check_backward(grad, inputs, function, wanted)
    wide = _widened(inputs)
    given = (grad.to(wide[0].dtype), *wide, *_factors(function, wide[0], shape, p, state))
    found = _gradients(function, given)
    return [
        _laid_out(function, x.expand(shape), inputs, shape)
        for x, want in zip(found, wanted, strict=True)
        if want
    ]


def of_factors(grad: Tensor, x: Tensor, function: str, factors: Tensor) -> Tensor:
    """Compute the gradient of a function with dropout of x.

    The factors are 0 for dropped elements, and the scale of the others.
    """
    wide_grad, wide = _widened((grad, x))
    return _BACKWARD[function](wide_grad, wide, factors.to(wide.dtype))[0].to(grad.dtype)


def check_backward(
    grad: Tensor, inputs: Sequence[Tensor], function: str, wanted: Sequence[bool]
) -> torch.Size:
    """Return the shape of the gradients.

    Raises:
        ValueError: If the function is unknown, or an argument does not match it.
    """
    row = FUNCTIONS.get(function)
    if row is None:
        raise ValueError(
            f"elementwise_backward: function is '{function}'; expected {', '.join(FUNCTIONS)}"
        )
    if len(inputs) != len(row.kept):
        raise ValueError(
            f"elementwise_backward: inputs has {len(inputs)} tensors; expected {len(row.kept)}"
        )
    if len(wanted) != len(row.gradients):
        raise ValueError(
            f"elementwise_backward: wanted has {len(wanted)} values; expected {len(row.gradients)}"
        )
    shape = check(function, inputs, row.kept)
    if grad.shape != shape:
        raise ValueError(
            f"elementwise_backward: grad has the shape {list(grad.shape)}; expected {list(shape)}"
        )
    return shape


def _widened(inputs: Sequence[Tensor]) -> list[Tensor]:
    wide = torch.promote_types(result_type(inputs), torch.float32)
    return [x.to(wide) for x in inputs]


def _factors(
    function: str, x: Tensor, shape: torch.Size, p: float, state: Tensor | None
) -> tuple[Tensor, ...]:
    """Return the factors of dropout: 0 for dropped elements, and the scale of the others."""
    if not FUNCTIONS[function].drops:
        return ()
    if state is None:
        return (torch.ones_like(x),)
    kept = kept_elements(state, x.numel(), p).view(shape)
    return (kept.to(x.dtype) * kept_scale(p),)


def _laid_out(function: str, y: Tensor, inputs: Sequence[Tensor], shape: torch.Size) -> Tensor:
    out = new_result(function, inputs, shape)
    y = y.to(out.dtype)
    if y.stride() == out.stride():
        return y
    return torch.empty_strided(shape, out.stride(), dtype=out.dtype, device=out.device).copy_(y)


def _relu_gradient(grad: Tensor, v: Tensor) -> Tensor:
    return torch.where(v <= 0, torch.zeros_like(grad), grad)


def _gelu_slope(v: Tensor) -> Tensor:
    below = 0.5 * (1 + torch.erf(v * math.sqrt(0.5)))
    return below + v * torch.exp(-0.5 * v * v) / math.sqrt(2 * math.pi)


def _gelu_tanh_slope(v: Tensor) -> Tensor:
    factor = math.sqrt(2 / math.pi)
    t = torch.tanh(factor * (v + 0.044715 * v * v * v))
    return 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * factor * (1 + 3 * 0.044715 * v * v)


def _gradients(function: str, given: Sequence[Tensor]) -> tuple[Tensor, ...]:
    if function == "prelu_bias":
        return _prelu_gradients(*given)
    if FUNCTIONS[function].of_result:
        return _OF_RESULT[function](*given)
    return _BACKWARD[function](*given)


def _product(inner: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return inner * y, inner * x


def _swish_gradients(grad: Tensor, x: Tensor, gate: Tensor) -> tuple[Tensor, Tensor]:
    s = torch.sigmoid(x)
    return grad * gate * (s + x * s * (1 - s)), grad * x * s


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


# Gradients of functions of two tensors, or of one tensor and the factors of dropout.
_FORWARD: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add_relu": lambda x, y: torch.relu(x + y),
    "multiply_relu": lambda x, y: torch.relu(x * y),
    "add_sigmoid": lambda x, y: torch.sigmoid(x + y),
    "mul_tanh": lambda x, y: torch.tanh(x * y),
    "bias_gelu": lambda x, bias: F.gelu(x + bias),
    "bias_gelu_tanh": lambda x, bias: F.gelu(x + bias, approximate="tanh"),
    "gelu_dropout": lambda x, factors: F.gelu(x) * factors,
    "swish_multiply": lambda x, gate: F.silu(x) * gate,
    "mish_scale": lambda x, scale: F.mish(x) * scale,
    "attention_dropout": lambda scores, factors: scores * factors,
}
_BACKWARD: dict[str, Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]]] = {
    "multiply_relu": lambda grad, x, y: _product(_relu_gradient(grad, x * y), x, y),
    "mul_tanh": lambda grad, x, y: _product(grad * (1 - torch.tanh(x * y) ** 2), x, y),
    "bias_gelu": lambda grad, x, bias: (grad * _gelu_slope(x + bias),),
    "bias_gelu_tanh": lambda grad, x, bias: (grad * _gelu_tanh_slope(x + bias),),
    "gelu_dropout": lambda grad, x, factors: (grad * factors * _gelu_slope(x),),
    "swish_multiply": _swish_gradients,
    "mish_scale": _mish_gradients,
    "attention_dropout": lambda grad, _, factors: (grad * factors,),
}
_OF_RESULT: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, ...]]] = {
    "add_relu": lambda grad, result: (_relu_gradient(grad, result),),
    "add_sigmoid": lambda grad, result: (grad * result * (1 - result),),
}
