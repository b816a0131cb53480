"""A bilinear enlargement and a 3x3 convolution as one convolution at the small size, to the border.

Off the border the results of `bilinear_phase_weight` only need interleaving. At the border the
convolution reads the reflection of the enlarged picture, which no padding of the small one gives to
all phases at once. But three pixels, of which each side of the small picture is given a set apart
from its own, let the same convolution compute the outermost row.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Where a row begins with p and q, the outermost enlarged row reads the enlarged rows 1, 0, 1, that
# is (3p + q) / 4, p, (3p + q) / 4. Its phase enlarges three rows a, b, c to (3a + b) / 4,
# (a + 3b) / 4, (3b + c) / 4, which gives a, b, c. The row after them repeats p, as the enlargement
# does. In eighths of p and q:
_EDGE = ((5, 3), (9, -1), (-3, 11), (8, 0))
MARGIN = len(_EDGE)  # pixels on each side
_INNER = MARGIN - 1  # where the results for the picture itself begin


def padded_size(height: int, width: int) -> tuple[int, int]:
    """The size that `pad_for_enlarging` gives pictures of this size."""
    return height + 2 * MARGIN, width + 2 * MARGIN


def margin_weights(device: torch.device, dtype: torch.dtype) -> Tensor:
    """What `pad_for_enlarging` multiplies the outermost rows by, [2 MARGIN, 4]."""
    edge = torch.tensor(_EDGE, dtype=torch.float64) / 8
    both = torch.zeros(2 * MARGIN, 4, dtype=torch.float64)
    both[:MARGIN, :2] = edge
    both[MARGIN:, 2:] = edge.flip(0, 1)
    return both.to(device, dtype)


def pad_for_enlarging(x: Tensor, margins: Tensor, out: Tensor) -> Tensor:
    """Give pictures the margin that the convolution reads.

    Args:
        x: [N, C, H, W], floating, H and W at least 2.
        margins: `margin_weights` of x's device and dtype.
        out: [N, C, *padded_size(H, W)], channels last, which is overwritten.

    Returns:
        `out`.
    """
    picture, padded = x.permute(0, 2, 3, 1), out.permute(0, 2, 3, 1)
    inner = slice(MARGIN, -MARGIN)
    padded[:, inner, inner] = picture
    outermost = torch.cat([picture[:, :2], picture[:, -2:]], 1)  # [N, 4, W, C]
    rows = torch.unflatten(margins @ outermost.flatten(2), 2, outermost.shape[2:])
    padded[:, :MARGIN, inner], padded[:, -MARGIN:, inner] = rows[:, :MARGIN], rows[:, MARGIN:]
    middle = padded[:, :, inner]
    columns = margins @ torch.cat([middle[:, :, :2], middle[:, :, -2:]], 2)  # [N, H + 8, 8, C]
    padded[:, :, :MARGIN], padded[:, :, -MARGIN:] = columns[:, :, :MARGIN], columns[:, :, MARGIN:]
    return out


def interleave_phases(z: Tensor, skip: Tensor | None, out: Tensor) -> Tensor:
    """Join the four phases of an enlarged picture, and add another one.

    Args:
        z: [N, 4 C, H + 6, W + 6], what a convolution by `bilinear_phase_weight` makes of a padded
            picture; channels last. Its border is moved in place.
        skip: [N, C, 2 H, 2 W], or None.
        out: [N, C, 2 H, 2 W], channels last, which is overwritten.

    Returns:
        `out`.
    """
    phases = torch.unflatten(z.permute(0, 2, 3, 1), 3, (2, 2, -1))  # [N, H + 6, W + 6, 2, 2, C]
    first, last = _INNER, -_INNER - 1
    phases[:, first, :, 0] = phases[:, 0, :, 0]
    phases[:, last, :, 1] = phases[:, -1, :, 1]
    phases[:, :, first, :, 0] = phases[:, :, 0, :, 0]
    phases[:, :, last, :, 1] = phases[:, :, -1, :, 1]
    inner = phases[:, first:-_INNER, first:-_INNER].permute(0, 1, 3, 2, 4, 5)
    to = _in_pairs(out)
    if skip is None:
        to.copy_(inner)
    else:
        torch.add(inner, _in_pairs(skip), out=to)
    return out


def _in_pairs(x: Tensor) -> Tensor:
    """[N, C, 2 H, 2 W], channels last, as [N, H, 2, W, 2, C]."""
    return torch.unflatten(torch.unflatten(x.permute(0, 2, 3, 1), 2, (-1, 2)), 1, (-1, 2))
