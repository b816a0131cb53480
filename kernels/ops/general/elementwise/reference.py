"""PyTorch references of the elementwise functions and their gradients.

FP16 and BF16 are computed in FP32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
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
    return _laid_out(function, FUNCTIONS[function].forward(*given), inputs, shape)


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
    found = FUNCTIONS[function].backward(*given)
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
    found = FUNCTIONS[function].backward(wide_grad, wide, factors.to(wide.dtype))
    return found[0].to(grad.dtype)


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
