"""The blocks of keys that blocks of queries see, computed once per version of a mask."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from kernels.ops.general.attention import gathered
from kernels.table.direct import is_watched
from utils.cuda_streams import raw_stream

# Gathering is faster than a mask in 16 bits on a GPU if a row sees at most one in this many blocks
# of keys. Measured with gradients at 3 of 32, 64 and 256 blocks, where it is always faster.
SPARSE = 10


class Layout(NamedTuple):
    """The gathered blocks in the order of a row, the visible ones first.

    Attributes:
        places: The index of each block among all heads of all samples: [N * H * rows * most].
        mask: bool [N, H * rows, 1, most * keys], true for keys of visible blocks, and for all keys
            if a row sees none.
        any_seen: bool [N, H, rows, 1].
        inverse: The places of each block, see `inverse_of`; None until a gradient is needed.
    """

    places: Tensor
    mask: Tensor
    any_seen: Tensor
    inverse: tuple[Tensor, Tensor] | None = None


def slower_reason(q: Tensor, block_mask: Tensor, most: int) -> str:
    """Return why attention with a whole mask runs, or "" if gathering blocks is faster."""
    columns = block_mask.shape[-1]
    if most == columns:
        return "some queries see all blocks of keys"
    is_narrow = q.is_cuda and q.dtype in (torch.float16, torch.bfloat16)
    if is_narrow and block_mask.dim() == 2 and most * SPARSE > columns:
        return f"PyTorch's attention in 16 bits is faster with {most} of {columns} blocks of keys"
    return ""


class _Found:
    """Cached properties of a mask, valid for one version of it."""

    __slots__ = ("layouts", "most", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self.most: int | None = None
        self.layouts: dict[tuple[int, ...], Layout] = {}


_masks: Any = WeakTensorKeyDictionary()  # mask -> _Found, which lives as long as its mask


def most_seen(block_mask: Tensor) -> int:
    """Return the most blocks that a row of a mask with any element sees.

    The first call with a mask waits for the GPU.
    """
    found = _found(block_mask)
    if found is None:
        return _count(block_mask)
    if found.most is None:
        found.most = _count(block_mask)
    return found.most


def layout_of(
    block_mask: Tensor, seen: Tensor, keys: int, most: int, gradients: bool = False
) -> Layout:
    """Return the layout of the blocks to gather for a mask; `gradients` adds the inverse layout.

    `seen` is the mask, expanded to every sample and head: [N, H, rows, columns]. `keys` is the
    number of keys per block.
    """
    found = _found(block_mask)
    stream = raw_stream(seen.get_device()) if seen.is_cuda else 0
    # A graph would read freed memory after a write to its mask; another stream might read the
    # layout before it is written.
    if found is None or (seen.is_cuda and torch.cuda.is_current_stream_capturing()):
        return _inverted(_made(seen, keys, most), seen, gradients)
    key = (*seen.shape[:2], keys, most, stream)
    layout = found.layouts.get(key)
    if layout is None or (gradients and layout.inverse is None):
        with torch.inference_mode(False):  # a later call may record gradients
            layout = layout or _made(seen, keys, most)
            layout = found.layouts[key] = _inverted(layout, seen, gradients)
    return layout


def _found(block_mask: Tensor) -> _Found | None:
    """Return the cached properties of a mask; None for a mask without identity or version."""
    if is_watched() or type(block_mask) is not Tensor or block_mask.is_inference():
        return None
    version = block_mask._version
    found = _masks.get(block_mask)
    if found is None or found.version != version:
        found = _masks[block_mask] = _Found(version)
    return found


def _count(block_mask: Tensor) -> int:
    return int(block_mask.sum(-1).max())


def _made(seen: Tensor, keys: int, most: int) -> Layout:
    n, heads, rows, columns = seen.shape
    order = seen.to(torch.int8).sort(stable=True, dim=-1, descending=True).indices[..., :most]
    kept = seen.gather(-1, order)
    any_seen = kept.any(-1, keepdim=True)
    heads_before = torch.arange(n * heads, device=seen.device).view(n, heads, 1, 1)
    mask = (kept | ~any_seen).repeat_interleave(keys, 3).view(n, heads * rows, 1, most * keys)
    return Layout((heads_before * columns + order).flatten(), mask, any_seen)


def _inverted(layout: Layout, seen: Tensor, gradients: bool) -> Layout:
    if not gradients:
        return layout
    return layout._replace(inverse=gathered.inverse_of(layout.places, seen[..., 0, :].numel()))
