"""References of layer and RMS norms fused with their surroundings, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.fusion.arguments import check_shape, common_dtype, dense
from kernels.table.launcher import Calls


class Activation(NamedTuple):
    """A function that follows a norm, and the gradient of its input from the result's."""

    value: Callable[[Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]


def _identity(z: Tensor) -> Tensor:
    return z


def _unchanged(grad: Tensor, _z: Tensor) -> Tensor:
    return grad


def _through_relu(grad: Tensor, z: Tensor) -> Tensor:
    return torch.where(z <= 0, torch.zeros_like(grad), grad)


def _through_gelu(grad: Tensor, z: Tensor) -> Tensor:
    below = 0.5 * (1 + torch.erf(z * math.sqrt(0.5)))
    return grad * (below + z * torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))


# In the order of `with_activation` in activations.h.
ACTIVATIONS = {
    "none": Activation(_identity, _unchanged),
    "relu": Activation(F.relu, _through_relu),
    "gelu": Activation(F.gelu, _through_gelu),
}
NUMBERS = {name: number for number, name in enumerate(ACTIVATIONS)}  # as kernels number them


class Norm(NamedTuple):
    """A kind of row norm, named for messages, with one of ACTIVATIONS.

    `centered` is whether to subtract the mean, as in a layer norm but not in an RMS norm.
    """

    name: str
    activation: str = "none"
    centered: bool = True


class Rows(NamedTuple):
    """Checked arguments, dense and in one dtype: x in the caller's shape, and `same` of that shape.

    Weight and bias are one row of `width` elements, or None.
    """

    x: Tensor
    weight: Tensor | None
    bias: Tensor | None
    same: tuple[Tensor | None, ...]
    rows: int
    width: int


class _Plan(NamedTuple):
    """The checked layout of a call's tensors; `is_dense` if kernels read them as they are."""

    dtype: torch.dtype
    rows: int
    width: int
    is_dense: bool


def checked(
    name: str,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    calls: Calls | None = None,
    **same: Tensor | None,
) -> Rows:
    """Return the arguments as rows.

    x has any shape that ends in `normalized_shape`, the shape of weight and bias. `same` has other
    tensors of x's shape, by argument name; `calls` caches the checks of a call.

    Raises:
        ValueError: If an argument is invalid.
    """
    tensors: tuple[Tensor | None, ...] = (x, weight, bias, *same.values())
    if calls is None:
        plan = _planned(name, x, normalized_shape, weight, bias, same)
    else:
        key = (name, *normalized_shape, *map(_traits, tensors))
        plan = calls.calls.get(key)
        if plan is None:
            plan = calls.keep(key, _planned(name, x, normalized_shape, weight, bias, same))
    if not plan.is_dense:
        tensors = tuple(dense(each, plan.dtype) for each in tensors)
    x = tensors[0] if tensors[0] is not None else x
    return Rows(x, tensors[1], tensors[2], tensors[3:], plan.rows, plan.width)


def _traits(x: Tensor | None) -> tuple[object, ...] | None:
    return None if x is None else (x.dtype, x.shape, x.stride(), x.get_device())


def _planned(
    name: str,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    same: Mapping[str, Tensor | None],
) -> _Plan:
    shape = torch.Size(normalized_shape)
    if not shape or x.shape[x.dim() - len(shape) :] != shape or len(shape) > x.dim():
        raise ValueError(
            f"{name}: normalized_shape is {list(shape)}; expected the last dimensions of x, which "
            f"has the shape {list(x.shape)}"
        )
    given = {"x": x, "weight": weight, "bias": bias, **same}
    dtype = common_dtype(name, given)
    for argument in ("weight", "bias"):
        check_shape(name, argument, given[argument], shape)
    for argument, value in same.items():
        check_shape(name, argument, value, x.shape)
    width = math.prod(shape)
    rows = math.prod(x.shape[: x.dim() - len(shape)])
    is_dense = all(
        each is None or (each.dtype == dtype and each.is_contiguous()) for each in given.values()
    )
    return _Plan(dtype, rows, width, is_dense)


def reference(
    norm: Norm,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return total = x + residual, activation(norm(total) * weight + bias), and the row statistics.

    FP16 and BF16 are computed in FP32; the sum is rounded before normalization. The first two
    results are contiguous. The statistics are [rows, 2] in FP32 (FP64 for FP64): the means, or 0 if
    the norm subtracts none, and the reciprocal standard deviations.
    """
    given = checked(norm.name, x, normalized_shape, weight, bias, residual=residual)
    total = given.x
    wide = torch.promote_types(total.dtype, torch.float32)
    if residual is not None:
        total = (total.to(wide) + residual.to(wide)).to(total.dtype)
    of_rows = total.reshape(given.rows, given.width).to(wide)
    normed, inverse = _normed(of_rows, norm.centered, eps)
    y = ACTIVATIONS[norm.activation].value(_affine(normed, given))
    mean = of_rows.mean(1, keepdim=True) if norm.centered else torch.zeros_like(inverse)
    return total, y.to(total.dtype).reshape(x.shape), torch.cat((mean, inverse), 1)


def reference_backward(
    grad: Tensor,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    statistics: Tensor,
    added: Tensor | None,
    activation: str,
    centered: bool,
    eps: float,
) -> list[Tensor]:
    """Return the gradients of x, and of weight and bias if given; `added` is added to x's.

    The statistics are recomputed from x, so that second derivatives are right.
    """
    given = checked_backward(grad, x, normalized_shape, weight, bias, statistics, added, activation)
    wide = torch.promote_types(given.x.dtype, torch.float32)
    normed, inverse = _normed(given.x.reshape(given.rows, given.width).to(wide), centered, eps)
    of_result = grad.reshape_as(normed).to(wide)
    g = ACTIVATIONS[activation].gradient(of_result, _affine(normed, given))
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
    if centered:
        x = x - x.mean(1, keepdim=True)
    inverse = torch.rsqrt(x.square().mean(1, keepdim=True) + eps)
    return x * inverse, inverse


def _affine(normed: Tensor, given: Rows) -> Tensor:
    z = normed if given.weight is None else normed * given.weight.reshape(-1)
    return z if given.bias is None else z + given.bias.reshape(-1)


def checked_backward(
    grad: Tensor,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    statistics: Tensor,
    added: Tensor | None,
    activation: str,
    calls: Calls | None = None,
) -> Rows:
    """Return a backward's arguments as rows, with grad and added in `same`, or raise ValueError."""
    name = "row_norm_backward"
    if activation not in ACTIVATIONS:
        raise ValueError(f"{name}: activation is '{activation}'; expected {', '.join(ACTIVATIONS)}")
    given = checked(name, x, normalized_shape, weight, bias, calls, grad=grad, added=added)
    check_shape(name, "statistics", statistics, torch.Size([given.rows, 2]))
    return given
