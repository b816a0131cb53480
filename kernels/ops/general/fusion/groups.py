"""Group norm fused with the bias before it and ReLU: reference, gradients, and kernels.

On a GPU it uses the batch norm kernels with the planes of all samples as channels. The statistics
of a group, and the terms of its gradients, are sums over its planes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.fusion import held
from kernels.ops.general.fusion.arguments import TYPES, check_shape, common_dtype, mean_and_variance
from kernels.ops.general.fusion.channel_passes import THREADS, WARP, Passes
from kernels.table.launcher import CpuLauncher, CudaLauncher

NAME = "group_norm_relu"
_MOST_THREADS = 512  # per block, which handles one group of all samples


def _check(
    x: Tensor, shift: Tensor | None, groups: int, weight: Tensor | None, bias: Tensor | None
) -> None:
    if x.dim() < 2 or groups < 1 or x.shape[1] % groups:
        raise ValueError(
            f"{NAME}: x has the shape {list(x.shape)}; expected [N, C, ...], where {groups} groups "
            "divide C"
        )
    given = {"shift": shift, "weight": weight, "bias": bias}
    common_dtype(NAME, {"x": x, **given})
    for argument, value in given.items():
        check_shape(NAME, argument, value, x.shape[1:2])


def _normed(
    x: Tensor, shift: Tensor | None, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return normalized [samples, groups, channels, inner], and each group's moments.

    They are the mean and the reciprocal standard deviation.
    """
    samples, channels = x.shape[:2]
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    wide = wide.reshape(samples, channels, math.prod(x.shape[2:]))
    if shift is not None:
        wide = wide + shift.to(wide.dtype)[:, None]
    of_groups = wide.reshape(samples, groups, channels // groups, wide.shape[2])
    mean, var = mean_and_variance(of_groups, [2, 3], True)
    inverse = torch.rsqrt(var + eps)
    return (of_groups - mean) * inverse, mean, inverse


def _of_groups(of_channels: Tensor | None, normed: Tensor, otherwise: float) -> Tensor:
    if of_channels is None:
        return normed.new_full((*normed.shape[1:3], 1), otherwise)
    return of_channels.to(normed.dtype).view(*normed.shape[1:3], 1)


def reference(
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Return relu(group_norm(x + shift)), and [5, planes] as in styleforge_groups_totals."""
    _check(x, shift, groups, weight, bias)
    samples, channels = x.shape[:2]
    wide = torch.promote_types(x.dtype, torch.float32)
    shift, weight, bias = (
        None if each is None else each.to(wide) for each in (shift, weight, bias)
    )
    total = x.to(wide).reshape(samples, channels, math.prod(x.shape[2:]))
    if shift is not None:
        total = total + shift[:, None]
    sizes = samples, channels, total.shape[2], groups
    y, mean, inverse = torch.native_group_norm(total.contiguous(), weight, bias, *sizes, eps)
    with torch.no_grad():  # only the backward pass uses these
        mean, inverse = (each.repeat_interleave(channels // groups, 1) for each in (mean, inverse))
        none = mean.new_zeros(channels)
        kept = (
            *(mean if shift is None else mean - shift, inverse),
            *(none + 1 if weight is None else weight, none if bias is None else bias),
            (total.mean(2) - mean) * inverse,
        )
        planes = torch.stack([each.expand(samples, channels).flatten() for each in kept])
    return F.relu(y).to(x.dtype).reshape(x.shape), planes


def reference_backward(
    grad: Tensor,
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    kept: Tensor,
    eps: float,
) -> list[Tensor]:
    """Return the gradients of x, and of shift, weight and bias if given.

    `kept` is recomputed from x, so that second derivatives are right.
    """
    _check_backward(grad, x, shift, groups, weight, bias, kept)
    normed, _, inverse = _normed(x, shift, groups, eps)
    gamma, beta = _of_groups(weight, normed, 1.0), _of_groups(bias, normed, 0.0)
    given = grad.to(normed.dtype).reshape(normed.shape)
    through = torch.where(normed * gamma + beta <= 0, torch.zeros_like(normed), given)
    inner = through * gamma
    of_normed, of_product = (each.mean((2, 3), keepdim=True) for each in (inner, inner * normed))
    dx = (inner - of_normed - normed * of_product) * inverse
    sums = (each.sum((0, 3)).flatten() for each in (dx, through * normed, through))
    return [dx.to(x.dtype).reshape(x.shape), *_given((shift, weight, bias), sums)]


def _check_backward(
    grad: Tensor,
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    kept: Tensor,
) -> None:
    _check(x, shift, groups, weight, bias)
    check_shape(f"{NAME}_backward", "grad", grad, x.shape)
    planes = torch.Size([5, x.shape[0] * x.shape[1]])
    check_shape(f"{NAME}_backward", "kept", kept, planes)


def _given(parameters: Iterable[Tensor | None], found: Iterable[Tensor]) -> list[Tensor]:
    pairs = zip(parameters, found, strict=True)
    return [each.to(of.dtype) for of, each in pairs if of is not None]


def forward_on_cpu(
    launch: CpuLauncher,
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    _check(x, shift, groups, weight, bias)
    if x.dtype not in TYPES or not x.numel():
        return reference(x, shift, groups, weight, bias, eps)
    x = x.contiguous()
    kept, y = torch.empty(5, x.shape[0] * x.shape[1]), torch.empty_like(x)
    parameters = (None if each is None else _dense(each) for each in (shift, weight, bias))
    launch("styleforge_groups_relu_cpu", x, *parameters, y, kept, *_sizes(x, groups), float(eps))
    return y, kept


def backward_on_cpu(
    launch: CpuLauncher,
    grad: Tensor,
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    kept: Tensor,
    eps: float,
) -> list[Tensor]:
    _check_backward(grad, x, shift, groups, weight, bias, kept)
    if x.dtype not in TYPES or not x.numel():
        return reference_backward(grad, x, shift, groups, weight, bias, kept, eps)
    x, grad = x.contiguous(), grad.to(x.dtype).contiguous()
    samples, channels = x.shape[:2]
    of_planes, means = torch.empty(3, samples, channels), torch.empty(samples, groups, 2)
    dx = torch.empty_like(x)
    launch(
        "styleforge_groups_backward_cpu", grad, x, _dense(kept), of_planes, means, dx,
        *_sizes(x, groups),
    )  # fmt: skip
    of_weight, of_bias, of_shift = of_planes.sum(1)
    return [dx, *_given((shift, weight, bias), (of_shift, of_weight, of_bias))]


def _sizes(x: Tensor, groups: int) -> tuple[int, ...]:
    """Return the dtype, samples, channels, channels per group and elements per plane."""
    samples, channels, *inner = x.shape
    return TYPES[x.dtype], samples, channels, channels // groups, math.prod(inner)


def forward_on_cuda(
    launch: CudaLauncher,
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Run `reference` in CUDA: sums of planes, their statistics, and one more pass."""
    _check(x, shift, groups, weight, bias)
    if x.dtype not in TYPES or not x.numel():
        return reference(x, shift, groups, weight, bias, eps)
    x, passes = x.contiguous(), _passes(launch, x)
    samples, channels = x.shape[:2]
    kept = torch.empty((5, samples * channels), dtype=torch.float32, device=x.device)
    y, slabs = torch.empty_like(x), _slabs(x, groups)
    parameters = [None if each is None else _dense(each) for each in (shift, weight, bias)]
    if by := held.shared_by(launch, slabs, x):
        shift, weight, bias = parameters
        weight = kept.new_ones(channels) if weight is None else weight
        bias = kept.new_zeros(channels) if bias is None else bias
        held.forward(launch, slabs, by, x, shift, weight, bias, y, _normed_by(kept), eps)
        return y, kept
    partial, splits = passes.sums(None, x, None, None, None, None)
    launch(
        "styleforge_groups_totals", -(-samples * groups * WARP // THREADS), THREADS, partial, x,
        *parameters, kept, TYPES[x.dtype], splits, samples, channels, channels // groups,
        math.prod(x.shape[2:]), float(eps),
    )  # fmt: skip
    passes.relu(x, *kept[:4], y)
    return y, kept


def backward_on_cuda(
    launch: CudaLauncher,
    grad: Tensor,
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    kept: Tensor,
    eps: float,
) -> list[Tensor]:
    """Run `reference_backward` in CUDA: sums of planes, of groups, and one more pass."""
    _check_backward(grad, x, shift, groups, weight, bias, kept)
    if x.dtype not in TYPES or not x.numel():
        return reference_backward(grad, x, shift, groups, weight, bias, kept, eps)
    passes = _passes(launch, x)
    x, grad, kept = x.contiguous(), grad.to(x.dtype).contiguous(), _dense(kept)
    samples, channels = x.shape[:2]
    means, dx = kept.new_empty((4, samples * channels)), torch.empty_like(x)
    of_weight, of_bias, of_shift = found = kept.new_empty((3, channels))
    threads = min(_MOST_THREADS, WARP * max(samples, channels // groups))
    slabs = _slabs(x, groups)
    by = held.shared_by(launch, slabs, x, grad)
    if by:
        held.backward(launch, slabs, by, grad, x, None, None, _normed_by(kept), dx, means)
        partial, splits = None, 0
    else:
        partial, splits = passes.sums(grad, x, *kept[:4])
    launch(
        "styleforge_groups_gradients", groups, threads, partial, kept, means, found,
        splits, samples, channels, channels // groups, math.prod(x.shape[2:]),
    )  # fmt: skip
    if not by:
        passes.gradient(grad, x, *kept[:4], sums=means, dx=dx, each=0)
    return [dx, *_given((shift, weight, bias), (of_shift, of_weight, of_bias))]


def _passes(launch: CudaLauncher, x: Tensor) -> Passes:
    samples, channels, *inner = x.shape
    return Passes(launch, (1, samples * channels, math.prod(inner)), x.dtype)


def _slabs(x: Tensor, groups: int) -> held.Slabs:
    samples, channels, *inner = x.shape
    return held.Slabs(samples, channels, math.prod(inner), channels // groups)


def _normed_by(kept: Tensor) -> held.Normed:
    return held.Normed(kept[0], kept[1], kept[2:])


def _dense(x: Tensor) -> Tensor:
    return x.float().contiguous()
