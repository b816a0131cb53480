"""Layer norm of tokens fused with its inputs: statistics of the image, bias, residual."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.table.calls import TYPES
from kernels.table.launcher import CudaLauncher
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_pooled_token_norm", "fused_token_norm"]

LIBRARY, ON_CPU = "token_norm_cuda", "PyTorch's layer norm"
THREADS, WARP = 128, 32
COUNT = 4  # elements per load
MOST_WIDTH, NARROW = 1024, 512  # channels; the most for kernels with fewer registers
VECTOR = 16  # bytes: tensors begin at multiples of it
MOST_SAMPLES = 65_535  # per grid


def _reference(x: Tensor, *given: Any) -> tuple[Tensor, Tensor]:
    y, normed = _as_given(x, *_wide(x, *given))
    return y, normed


def _wide(
    x: Tensor,
    mean: Tensor | None,
    inverse: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Return y and its norm in FP32 or wider."""
    _check(x, mean, inverse, weight, bias, residual)
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    if mean is not None and inverse is not None:
        y = (y - mean[:, None]) * inverse[:, None]
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    if residual is not None:
        y = y + residual
    return y, F.layer_norm(y, y.shape[-1:], eps=eps)


def _pooled_reference(
    x: Tensor, high: int, wide: int, stride: int, *given: Any
) -> tuple[Tensor, Tensor, Tensor]:
    _check_groups(x, high, wide, stride)
    y, normed = _wide(x, *given)
    planes = torch.unflatten(normed.transpose(1, 2), 2, (high, wide))
    pooled = F.avg_pool2d(planes, stride, ceil_mode=True, count_include_pad=False)
    means = pooled.flatten(2).transpose(1, 2)
    y, normed, means = _as_given(x, y, normed, means)
    return y, normed, means


def _as_given(x: Tensor, *wide: Tensor) -> list[Tensor]:
    """Return contiguous tensors of x's dtype, and never x itself."""
    narrow = (each.to(x.dtype).contiguous() for each in wide)
    return [each.clone() if each is x else each for each in narrow]


def _check_groups(x: Tensor, high: int, wide: int, stride: int) -> None:
    if stride < 1:
        raise ValueError(f"token norm: stride must be at least 1, got {stride}")
    if x.dim() == 3 and high * wide != x.shape[1]:
        raise ValueError(f"token norm: {x.shape[1]} tokens are not {high} rows of {wide}")


def _check(
    x: Tensor,
    mean: Tensor | None,
    inverse: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
) -> None:
    if x.dim() != 3 or not x.is_floating_point():
        raise ValueError(f"token norm: x must be floating [N, T, E], got {list(x.shape)}")
    samples, _, width = x.shape
    if (mean is None) != (inverse is None):
        raise ValueError("token norm: needs both mean and inverse deviation, or neither")
    given = {"mean": mean, "inverse": inverse, "weight": weight, "bias": bias}
    for name, values in given.items():
        wanted = (samples, width) if name in ("mean", "inverse") else (width,)
        if values is not None and values.shape != wanted:
            raise ValueError(f"token norm: {name} must be {list(wanted)}, got {list(values.shape)}")
    if residual is not None and (residual.shape != x.shape or residual.dtype != x.dtype):
        raise ValueError(f"token norm: the residual must be {x.dtype} {list(x.shape)}")


def _launch(launch: CudaLauncher, x: Tensor, *given: Any) -> tuple[Tensor, Tensor]:
    *tensors, eps = given
    _check(x, *tensors)
    if not _fits(x):
        return _reference(x, *given)
    *parameters, residual = tensors
    tensors = _as_read(x, residual, *parameters)
    y, normed = (torch.empty_like(tensors[0]) for _ in range(2))
    _, tokens, width = x.shape
    rows = x.shape[0] * tokens
    blocks = -(-rows // (THREADS // WARP))
    numbers = TYPES[x.dtype], rows, tokens, width, float(eps)
    kernel = "styleforge_token_norm" if width <= NARROW else "styleforge_wide_token_norm"
    launch(kernel, blocks, THREADS, *tensors, y, normed, *numbers)
    return y, normed


def _launch_pooled(
    launch: CudaLauncher, x: Tensor, high: int, wide: int, stride: int, *given: Any
) -> tuple[Tensor, Tensor, Tensor]:
    *tensors, eps = given
    _check(x, *tensors)
    _check_groups(x, high, wide, stride)
    if not _fits(x) or len(x) > MOST_SAMPLES:
        return _pooled_reference(x, high, wide, stride, *given)
    *parameters, residual = tensors
    tensors = _as_read(x, residual, *parameters)
    y, normed = (torch.empty_like(tensors[0]) for _ in range(2))
    samples, _, width = x.shape
    groups = -(-high // stride) * -(-wide // stride)
    means = x.new_empty(samples, groups, width)
    numbers = TYPES[x.dtype], high, wide, stride, width, float(eps)
    grid = groups, samples, 1
    name = "pooled_token_norm" if width <= NARROW else "wide_pooled_token_norm"
    launch(f"styleforge_{name}", grid, THREADS, *tensors, y, normed, means, *numbers)
    return y, normed, means


def _fits(x: Tensor) -> bool:
    width = x.shape[-1]
    whole = width % COUNT == 0 and width <= MOST_WIDTH
    return x.dtype in TYPES and whole and x.numel() > 0


def _as_read(x: Tensor, residual: Tensor | None, *parameters: Tensor | None) -> list[Any]:
    """Return the tensors as the kernels read them: aligned, with parameters in FP32."""
    return [
        _aligned(x),
        None if residual is None else _aligned(residual),
        *(None if each is None else _aligned(each.to(torch.float32)) for each in parameters),
    ]


def _aligned(x: Tensor) -> Tensor:
    """Return a dense tensor that begins at a multiple of 16 bytes."""
    x = x.contiguous()
    return x.clone() if x.data_ptr() % VECTOR else x


def _samples() -> Iterator[tuple[Any, ...]]:
    """Yield tokens that fill a warp's vectors or not, too wide or odd, few arguments and all."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for n, tokens, width in (
            (2, 3, 8),
            (1, 37, 384),
            (1, 6, 516),
            (2, 9, 1024),
            (1, 5, 1028),
            (1, 3, 7),
        ):
            x, residual = (normal(n, tokens, width).to(dtype) for _ in range(2))
            mean, inverse = normal(n, width), normal(n, width).abs() + 0.5
            weight, bias = normal(width), normal(width)
            yield x, None, None, None, None, None, 1e-5
            yield x, mean, inverse, weight, bias, None, 1e-5
            yield x, None, None, None, bias, residual, 1e-5
            yield x, mean, inverse, weight, bias, residual, 1e-3


def _pooled_samples() -> Iterator[tuple[Any, ...]]:
    """Yield groups that fill the image or not, of one token, of few and of many."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for n, high, wide, stride, width in (
            (1, 6, 8, 2, 384),
            (2, 5, 7, 3, 12),
            (1, 3, 2, 1, 16),
            (1, 4, 3, 2, 516),
            (1, 9, 4, 5, 1024),
            (1, 4, 4, 2, 7),
        ):
            x, residual = (normal(n, high * wide, width).to(dtype) for _ in range(2))
            mean, inverse = normal(n, width), normal(n, width).abs() + 0.5
            weight, bias = normal(width), normal(width)
            yield x, high, wide, stride, mean, inverse, weight, bias, None, 1e-5
            yield x, high, wide, stride, None, None, None, None, residual, 1e-3


@Operation(
    reference=_reference,
    samples=_samples,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch),
    tolerance_scale=4,
)
def fused_token_norm(
    x: Tensor,
    mean: Tensor | None = None,
    inverse: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor]:
    """Compute y = (x - mean) * inverse * weight + bias + residual, and a plain layer_norm(y).

    With statistics of the image, y is the result of AdaIN on tokens. With a bias and a residual, it
    is the step after a matrix product in a pre-norm block. The layer norm has no parameters. Its
    statistics are FP32 (FP64 for FP64), from y before rounding. Returns y and its norm, [N, T, E]
    of x's dtype, contiguous.

    Args:
        x: [N, T, E] of any strides and floating dtype.
        mean: [N, E] of any floating dtype, like all following arguments but the residual; or None.
        inverse: [N, E], the reciprocal standard deviation; required with `mean`, or None.
        weight: [E] or None, like `bias`.
        residual: [N, T, E] of x's dtype, or None.
        eps: Added to the variance of a token.
    """
    ...


@Operation(
    reference=_pooled_reference,
    samples=_pooled_samples,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(LIBRARY, _launch_pooled),
    tolerance_scale=4,
)
def fused_pooled_token_norm(
    x: Tensor,
    high: int,
    wide: int,
    stride: int,
    mean: Tensor | None = None,
    inverse: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `fused_token_norm` of an image's tokens, and the means of square groups of the norm.

    Such means are the keys and values that many tokens share. All other arguments match
    `fused_token_norm`. Returns y and its norm, [N, T, E], and the means of the norm before
    rounding, [N, ceil(high / stride) * ceil(wide / stride), E]; of x's dtype, contiguous.

    Args:
        x: [N, T, E] of any strides and floating dtype, T = `high` * `wide`, row by row.
        high: Rows of tokens.
        wide: Tokens per row.
        stride: Side of a group; groups at the right and the bottom may be smaller.
    """
    ...
