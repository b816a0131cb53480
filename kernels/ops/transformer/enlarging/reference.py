"""PyTorch references of the operations around an enlarging convolution.

Off the border, a 3x3 convolution of a bilinear enlargement is a convolution at the small size whose
results need interleaving, see kernels.weight_transforms.bilinear_phase_weight. At the border it
reads the reflection of the enlarged image. No padding of the small image yields that for all phases
at once. But each side of the small image gets three extra pixels, separate from its own, from which
the same convolution computes the outermost row.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

# If a row begins with p and q, the outermost enlarged row reads the enlarged rows 1, 0, 1, which
# are (3p + q) / 4, p, (3p + q) / 4. Its phase enlarges three rows a, b, c to (3a + b) / 4, (a + 3b)
# / 4, (3b + c) / 4; solving yields a, b, c. The row after them repeats p, as the enlargement does.
# In eighths of p and q:
_EDGE = ((5, 3), (9, -1), (-3, 11), (8, 0))
MARGIN = len(_EDGE)  # pixels on each side
BEFORE = MARGIN - 1  # pixels of the convolution's result on each side


def padded_size(height: int, width: int) -> tuple[int, int]:
    """Return the size of images with the margin."""
    return height + 2 * MARGIN, width + 2 * MARGIN


def pad_reference(x: Tensor, out: Tensor) -> None:
    check_pad(x, out)
    weights = _margin_weights(x.device, x.dtype)
    picture, padded = x.permute(0, 2, 3, 1), out.permute(0, 2, 3, 1)
    inner = slice(MARGIN, -MARGIN)
    padded[:, inner, inner] = picture
    outermost = torch.cat([picture[:, :2], picture[:, -2:]], 1)  # [N, 4, W, C]
    rows = torch.unflatten(weights @ outermost.flatten(2), 2, outermost.shape[2:])
    padded[:, :MARGIN, inner], padded[:, -MARGIN:, inner] = rows[:, :MARGIN], rows[:, MARGIN:]
    middle = padded[:, :, inner]
    columns = weights @ torch.cat([middle[:, :, :2], middle[:, :, -2:]], 2)  # [N, H + 8, 8, C]
    padded[:, :, :MARGIN], padded[:, :, -MARGIN:] = columns[:, :, :MARGIN], columns[:, :, MARGIN:]


def interleave_reference(z: Tensor, skip: Tensor | None, out: Tensor) -> None:
    check_interleave(z, skip, out)
    phases = torch.unflatten(z.permute(0, 2, 3, 1), 3, (2, 2, -1))  # [N, H + 6, W + 6, 2, 2, C]
    to = out.permute(0, 2, 3, 1)
    added = None if skip is None else skip.permute(0, 2, 3, 1)
    inner, every = slice(BEFORE, -BEFORE), slice(None)
    pairs = None if added is None else _in_pairs(added)
    _write(phases[:, inner, inner].permute(0, 1, 3, 2, 4, 5), pairs, _in_pairs(to))

    def write(row: int | slice, column: int | slice, values: Tensor) -> None:
        here = every, row, column
        _write(values, None if added is None else added[here], to[here])

    ends = (0, 0), (-1, 1)  # the outermost row or column, and its phase
    for row, a in ends:
        write(row, every, phases[:, row, inner, a].flatten(1, 2))
        for column, b in ends:
            write(row, column, phases[:, row, column, a, b])
    for column, b in ends:
        write(slice(1, -1), column, phases[:, inner, column, :, b].flatten(1, 2)[:, 1:-1])


def _write(values: Tensor, added: Tensor | None, to: Tensor) -> None:
    if added is None:
        to.copy_(values)
    else:
        torch.add(values, added, out=to)


def _in_pairs(x: Tensor) -> Tensor:
    """View [N, 2 H, 2 W, C] as [N, H, 2, W, 2, C]."""
    return torch.unflatten(torch.unflatten(x, 2, (-1, 2)), 1, (-1, 2))


def check_pad(x: Tensor, out: Tensor) -> None:
    if x.dim() != 4 or not x.is_floating_point() or min(x.shape[2:]) < 2:
        raise ValueError(
            f"enlarging: x must be floating [N, C, H, W] of 2x2 or more, got {list(x.shape)}"
        )
    wanted = (*x.shape[:2], *padded_size(x.shape[2], x.shape[3]))
    _check_out(out, wanted, x.dtype)


def check_interleave(z: Tensor, skip: Tensor | None, out: Tensor) -> None:
    shape = list(z.shape)
    if z.dim() != 4 or not z.is_floating_point() or shape[1] % 4 or min(shape[2:]) < 2 + 2 * BEFORE:
        raise ValueError(f"enlarging: z must be floating [N, 4 C, H + 6, W + 6], got {shape}")
    n, channels, height, width = z.shape
    size = (n, channels // 4, 2 * (height - 2 * BEFORE), 2 * (width - 2 * BEFORE))
    _check_out(out, size, z.dtype)
    if skip is not None and (skip.shape != size or skip.dtype != z.dtype):
        raise ValueError(f"enlarging: skip must be {z.dtype} {list(size)}, got {list(skip.shape)}")


def _check_out(out: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    dense = out.is_contiguous(memory_format=torch.channels_last)
    if out.shape != shape or out.dtype != dtype or not dense:
        raise ValueError(
            f"enlarging: out must be {dtype} {list(shape)}, channels last, got {out.dtype} "
            f"{list(out.shape)}"
        )


@cache
def _margin_weights(device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return the weights of both margins by the two outermost rows per side: [2 MARGIN, 4]."""
    with torch.inference_mode(False):
        edge = torch.tensor(_EDGE, dtype=torch.float64) / 8
        both = torch.zeros(2 * MARGIN, 4, dtype=torch.float64)
        both[:MARGIN, :2] = edge
        both[MARGIN:, 2:] = edge.flip(0, 1)
        return both.to(device, dtype)
