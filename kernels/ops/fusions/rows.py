"""What layer and RMS norms joined with what surrounds them mean, and what their gradients are."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.fusions.arguments import check_shape, common_dtype, dense

ACTIVATIONS = ("none", "relu", "gelu")  # as include/fusion/activations.h numbers them


class Norm(NamedTuple):
    """A kind of row norm.

    Attributes:
        name: Of the operation, for messages.
        activation: One of ACTIVATIONS.
        centered: Whether the mean is subtracted: a layer norm, and not an RMS norm.
    """

    name: str
    activation: str = "none"
    centered: bool = True


class Rows(NamedTuple):
    """Checked arguments, in one dtype, dense.

    Attributes:
        x: What is normed, of the caller's shape.
        weight: One row, or None.
        bias: One row, or None.
        rows: How many there are.
        width: Elements of a row.
    """

    x: Tensor
    weight: Tensor | None
    bias: Tensor | None
    rows: int
    width: int


def checked(
    name: str,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    **same: Tensor | None,
) -> Rows:
    """The arguments as rows.

    Args:
        name: Of the operation.
        x: Any shape that ends in `normalized_shape`.
        normalized_shape: The dimensions that a norm is over.
        weight: Of that shape, or None.
        bias: Of that shape, or None.
        same: Others, of x's shape, by argument.

    Raises:
        ValueError: One does not fit.
    """
    shape = torch.Size(normalized_shape)
    if not shape or x.shape[x.dim() - len(shape) :] != shape or len(shape) > x.dim():
        raise ValueError(
            f"{name}: normalized_shape is {list(shape)}; expected the last dimensions of x, which "
            f"has the shape {list(x.shape)}"
        )
    dtype = common_dtype(name, {"x": x, "weight": weight, "bias": bias, **same})
    for argument, value in (("weight", weight), ("bias", bias)):
        check_shape(name, argument, value, shape)
    for argument, value in same.items():
        check_shape(name, argument, value, x.shape)
    width = math.prod(shape)
    rows = math.prod(x.shape[: x.dim() - len(shape)])
    made = dense(x, dtype)
    assert made is not None
    return Rows(made, dense(weight, dtype), dense(bias, dtype), rows, width)


def reference(
    norm: Norm,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """x + residual, and activation(norm(x + residual) * weight + bias), both contiguous.

    FP16 and BF16 are computed in FP32; the sum is rounded before it is normed.
    """
    given = checked(norm.name, x, normalized_shape, weight, bias, residual=residual)
    total = given.x
    wide = torch.promote_types(total.dtype, torch.float32)
    if residual is not None:
        total = (total.to(wide) + residual.to(wide)).to(total.dtype)
    normed, _ = _normed(total.reshape(given.rows, given.width).to(wide), norm.centered, eps)
    z = _affine(normed, given)
    y = {"none": lambda: z, "relu": lambda: F.relu(z), "gelu": lambda: F.gelu(z)}[norm.activation]()
    return total, y.to(total.dtype).reshape(x.shape)


def reference_backward(
    grad: Tensor,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    added: Tensor | None,
    activation: str,
    centered: bool,
    eps: float,
) -> list[Tensor]:
    """The gradients of x, weight and bias, of those that are given; `added` is added to x's."""
    given = checked_backward(grad, x, normalized_shape, weight, bias, added, activation)
    wide = torch.promote_types(given.x.dtype, torch.float32)
    normed, inverse = _normed(given.x.reshape(given.rows, given.width).to(wide), centered, eps)
    g = _through(activation, grad.reshape_as(normed).to(wide), _affine(normed, given))
    inner = g if given.weight is None else g * given.weight.reshape(-1)
    dx = inner - normed * (inner * normed).mean(1, keepdim=True)
    if centered:
        dx = dx - inner.mean(1, keepdim=True)
    dx = (dx * inverse).reshape(x.shape)
    if added is not None:
        dx = dx + added
    found = [dx.to(given.x.dtype)]
    for parameter, of_row in ((given.weight, g * normed), (given.bias, g)):
        if parameter is not None:
            found.append(of_row.sum(0).reshape(parameter.shape).to(parameter.dtype))
    return found


def _normed(x: Tensor, centered: bool, eps: float) -> tuple[Tensor, Tensor]:
    """Rows without affine parameters, and the reciprocals of their deviations."""
    if centered:
        x = x - x.mean(1, keepdim=True)
    inverse = torch.rsqrt(x.square().mean(1, keepdim=True) + eps)
    return x * inverse, inverse


def _affine(normed: Tensor, given: Rows) -> Tensor:
    z = normed if given.weight is None else normed * given.weight.reshape(-1)
    return z if given.bias is None else z + given.bias.reshape(-1)


def _through(activation: str, grad: Tensor, z: Tensor) -> Tensor:
    """The gradient that an activation lets through."""
    if activation == "relu":
        return torch.where(z <= 0, torch.zeros_like(grad), grad)
    if activation == "gelu":
        below = 0.5 * (1 + torch.erf(z * math.sqrt(0.5)))
        return grad * (below + z * torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))
    return grad


def checked_backward(
    grad: Tensor,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    added: Tensor | None,
    activation: str,
) -> Rows:
    """The arguments of a backward as rows.

    Raises:
        ValueError: One does not fit.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"row_norm_backward: activation is '{activation}'; expected {', '.join(ACTIVATIONS)}"
        )
    tensors = {"grad": grad, "added": added}
    return checked("row_norm_backward", x, normalized_shape, weight, bias, **tensors)
