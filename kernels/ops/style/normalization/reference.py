"""The PyTorch reference of instance norm, and its argument checks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def instance_norm_reference(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    relu: bool = False,
    pad: int = 0,
    pad_mode: str = "reflect",
    interleave: bool = False,
) -> Tensor:
    check(x, weight, bias, residual, pad, pad_mode, interleave)
    layout = dense_layout(x, interleave)
    last = layout is torch.channels_last
    # Statistics are FP32 for every input dtype but FP64, which stays FP64 for gradcheck.
    y = interleaved(x) if interleave else x
    y = y.to(torch.promote_types(x.dtype, torch.float32))
    weight, bias = (None if p is None else p.to(y.dtype) for p in (weight, bias))
    if last or not y.numel():  # PyTorch's refuses an empty batch
        y = _normalize_channels_last(y, weight, bias, eps)
    else:
        y = F.instance_norm(y, None, None, weight, bias, True, 0.0, eps)
    if residual is not None:
        y = y + residual
    if relu:
        y = y.relu()
    if pad and y.numel():
        y = F.pad(y, (pad,) * 4, mode=pad_mode)
    elif pad:
        y = y.new_empty((*y.shape[:2], y.shape[2] + 2 * pad, y.shape[3] + 2 * pad))
    y = y.to(x.dtype).contiguous(memory_format=layout)
    return y.clone(memory_format=layout) if y is x else y


def dense_layout(x: Tensor, interleave: bool) -> torch.memory_format:
    """Return channels last if the input is, and always if interleaved."""
    if interleave:
        return torch.channels_last
    last = not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if last else torch.contiguous_format


def _normalize_channels_last(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Normalize in channels last.

    PyTorch's instance norm undoes that layout, and its batch norm sums too long for FP32.
    """
    y = x.permute(0, 2, 3, 1)
    # Row by row, so that no sum is long; the rounding error of the mean is corrected after.
    y = y - _mean_of_pixels(y)
    rest = _mean_of_pixels(y)
    scale = (_mean_of_pixels(y * y) - rest * rest + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    offset = -rest * scale if bias is None else bias - rest * scale
    y = torch.addcmul(offset, y, scale)
    return y.permute(0, 3, 1, 2)


def _mean_of_pixels(x: Tensor) -> Tensor:
    """Reduce [N, H, W, C] to [N, 1, 1, C]."""
    return x.mean(2, keepdim=True).mean(1, keepdim=True)


def interleaved(x: Tensor) -> Tensor:
    """Turn [N, 4C, h + 1, w + 1] into [N, C, 2h, 2w].

    Phase (a, b) of pixel (i, j) is at (i+a, j+b).
    """
    n, channels, height, width = x.shape
    c, h, w = channels // 4, height - 1, width - 1
    phases = [
        x[:, (2 * a + b) * c : (2 * a + b + 1) * c, a : a + h, b : b + w]
        for a in (0, 1)
        for b in (0, 1)
    ]
    stacked = torch.stack(phases).view(2, 2, n, c, h, w)
    return stacked.permute(2, 3, 4, 0, 5, 1).reshape(n, c, 2 * h, 2 * w)


def check(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    pad: int,
    pad_mode: str,
    interleave: bool,
) -> None:
    """Raise ValueError unless these are valid arguments of `fused_instance_norm`."""
    if x.dim() != 4:
        raise ValueError(f"instance norm: expected [N, C, H, W], got {list(x.shape)}")
    n, c, h, w = x.shape
    if interleave:
        if c % 4 or h < 2 or w < 2:
            raise ValueError(
                f"instance norm: expected [N, 4C, h + 1, w + 1] to interleave, got {list(x.shape)}"
            )
        c, h, w = c // 4, 2 * (h - 1), 2 * (w - 1)
    if h * w <= 1:
        raise ValueError(f"instance norm: one pixel has no variance, got {list(x.shape)}")
    if pad_mode not in ("reflect", "replicate"):
        raise ValueError(
            f"instance norm: pad_mode must be 'reflect' or 'replicate', not '{pad_mode}'"
        )
    if pad < 0 or (pad_mode == "reflect" and pad >= min(h, w)):
        raise ValueError(f"instance norm: cannot pad {h}x{w} by {pad} with reflection")
    check_channels(c, weight, bias)
    if residual is not None and residual.shape != (n, c, h, w):
        raise ValueError(f"instance norm: the residual has the shape {list(residual.shape)}")
    if residual is not None and residual.dtype != x.dtype:
        raise ValueError(f"instance norm: the residual is {residual.dtype}, not {x.dtype}")


def check_channels(channels: int, *parameters: Tensor | None) -> None:
    """Raise ValueError unless each parameter has one value per channel."""
    for parameter in parameters:
        if parameter is not None and tuple(parameter.shape) != (channels,):
            raise ValueError(f"instance norm: expected {channels} weights and biases")
