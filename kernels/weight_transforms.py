"""Faster forms of convolutions: exact rewrites of weights, results in the caller's buffer."""

from __future__ import annotations

import functools
import math
import platform
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

# oneDNN can add a convolution to a tensor in place, which lets a caller's buffer receive the
# result; PyTorch has no out= for it. This is only tested and measured on x86.
_ADDS_IN_PLACE = (
    torch.backends.mkldnn.is_available()
    and platform.machine().lower() in ("x86_64", "amd64")
    and hasattr(torch.ops.mkldnn, "_convolution_pointwise_")
    and hasattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported")
)

# By phase: which of three taps on an upsampled row fall on which of two source pixels.
PHASE_TAPS = (((1, 0, 0), (0, 1, 1)), ((1, 1, 0), (0, 0, 1)))

# The same after a bilinear enlargement, which reads three pixels: in quarters.
_BILINEAR_TAPS = (((3, 1, 0), (1, 3, 3), (0, 0, 1)), ((1, 0, 0), (3, 3, 1), (0, 1, 3)))


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    out: Tensor | None = None,
) -> Tensor:
    """Convolve without padding, into the caller's buffer if possible.

    Reusing a buffer avoids the page faults of a new one, a third of the time at 640x480. The result
    is [N, O, (H - kh) // stride + 1, (W - kw) // stride + 1].

    Args:
        x: [N, C, H, W].
        weight: [O, C, kh, kw] of x's dtype.
        out: A buffer of the result's shape and dtype, returned if `can_write_into(out)`.
    """
    if out is None or not can_write_into(out):
        return F.conv2d(x, weight, bias, stride)
    out.zero_()
    torch.ops.mkldnn._convolution_pointwise_.binary(
        out, x, weight, bias, [0, 0], [stride, stride], [1, 1], 1, "add", 1.0, None, [], None
    )
    return out


def can_write_into(out: Tensor) -> bool:
    """Return whether `convolve` would use `out`; if not, the caller need not allocate it."""
    return (
        _ADDS_IN_PLACE
        and out.device.type == "cpu"
        and out.dtype in _dtypes_added_in_place()
        and bool(torch.backends.mkldnn.enabled)
    )


@functools.cache
def _dtypes_added_in_place() -> tuple[torch.dtype, ...]:
    """Return FP32, and BF16 if oneDNN supports it here; with AVX2 alone, oneDNN refuses it."""
    supported = bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return (torch.float32, torch.bfloat16) if supported else (torch.float32,)


def phase_weight(weight: Tensor) -> Tensor:
    """Merge "nearest x2, then this 3x3 convolution" into a 2x2 convolution of the source.

    On a source padded by one replicated pixel, phase (a, b) of pixel (i, j) is at (i+a, j+b) of the
    result. Replication before upsampling has the same effect as reflection after it. The form is
    exact: taps that meet on one pixel are added, in FP64, which leaves 2.25 times fewer.

    From [O, C, 3, 3] to [4 O, C, 2, 2]; output (2a + b) O + o is phase (a, b) of channel o.
    """
    taps = torch.tensor(PHASE_TAPS, dtype=torch.float64, device=weight.device)
    merged = torch.einsum("aip,bjq,ocpq->abocij", taps, taps, weight.double())
    return merged.flatten(0, 2).to(weight.dtype)


def bilinear_phase_weight(weight: Tensor) -> Tensor:
    """Merge "bilinear x2, then this 3x3 convolution" into a 3x3 convolution of the source.

    It has as many multiplications and saves the enlargement. It is exact except where the original
    convolution reads padding; see kernels.ops.transformer.enlarging.reference for the border.

    From [O, C, 3, 3] to [4 O, C, 3, 3], merged in FP64; output channel (2a + b) O + o at (i, j) is
    channel o at (2i + a, 2j + b).
    """
    taps = torch.tensor(_BILINEAR_TAPS, dtype=torch.float64, device=weight.device) / 4
    merged = torch.einsum("aip,bjq,ocpq->abocij", taps, taps, weight.double())
    return merged.flatten(0, 2).to(weight.dtype)


def column_weights(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Split a convolution [O, C, k, k] into [k O, C, k, 1] and [O, k O, 1, k].

    The first convolution computes each column of taps separately. The second, of zeros and ones,
    adds the columns, each at its place. On the CPU, a convolution computes 16 outputs at once, so
    that 3 waste most of the work; k x 3 do not. Exact except for the order of summation.
    """
    outputs, channels, height, width = weight.shape
    columns = weight.permute(3, 0, 1, 2).reshape(width * outputs, channels, height, 1)
    identity = torch.eye(width * outputs, dtype=weight.dtype, device=weight.device)
    # Row t O + o of the identity picks output o of column t, for tap t.
    picks = identity.view(width, outputs, width * outputs)
    return columns, picks.permute(1, 2, 0).unsqueeze(2)


def as_matrix(
    weight: Tensor, axes: Sequence[str], rows: Mapping[str, int], depth: Mapping[str, int]
) -> Tensor:
    """Reorder the named axes of a weight into a matrix, padded with zeros.

    `rows` and `depth` have the axes of rows and columns, outermost first, with padded sizes.

    Raises:
        ValueError: If `rows` and `depth` do not name each axis once, or a size is too small.
    """
    sizes = [*rows.items(), *depth.items()]
    if sorted(axes) != sorted(name for name, _ in sizes):
        raise ValueError(f"weights with axes {' '.join(axes)} cannot be laid out as {sizes}")
    moved = weight.permute([axes.index(name) for name, _ in sizes])
    if any(old > size for old, (_, size) in zip(moved.shape, sizes, strict=True)):
        raise ValueError(f"weights of {list(moved.shape)} do not fit into {sizes}")
    padded = moved.new_zeros([size for _, size in sizes])
    padded[tuple(slice(size) for size in moved.shape)] = moved
    return padded.reshape(math.prod(rows.values()), math.prod(depth.values()))
