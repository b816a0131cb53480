"""Which blocks of keys the blocks of queries see, found out once while a mask is not written to."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from kernels.ops.attention_parts import gathered
from kernels.ops.direct import is_watched
from utils.cuda_streams import raw_stream

# Of so many blocks of keys a row may see one for gathering to be faster than a mask, in 16 bits on
# a GPU: measured with gradients at 3 of 32, 64 and 256, where it is faster each time.
SPARSE = 10


class Layout(NamedTuple):
    """The blocks that are gathered, in the order of a row, those that are seen first.

    Attributes:
        places: The number of each among the blocks of all heads of all samples:
            [N * H * rows * most].
        mask: Bool [N, H * rows, 1, most * keys], the keys that count: those of blocks that are
            seen, and all where a row sees none.
        any_seen: Bool [N, H, rows, 1].
        inverse: Which places have each block, see `gathered.inverse_of`; None where no gradient was
            wanted yet.
    """

    places: Tensor
    mask: Tensor
    any_seen: Tensor
    inverse: tuple[Tensor, Tensor] | None = None


def slower_reason(q: Tensor, block_mask: Tensor, most: int) -> str:
    """Why attention with a whole mask runs, in words; empty where gathering blocks is faster.

    Args:
        q: The queries.
        block_mask: As the caller gave it.
        most: Blocks that would be gathered for a row.
    """
    columns = block_mask.shape[-1]
    if most == columns:
        return "nothing would be left out"
    is_narrow = q.is_cuda and q.dtype in (torch.float16, torch.bfloat16)
    if is_narrow and block_mask.dim() == 2 and most * SPARSE > columns:
        return f"PyTorch's attention in 16 bits is faster with {most} of {columns} blocks of keys"
    return ""


class _Found:
    """What was found out about a mask, as long as it has this version."""

    __slots__ = ("layouts", "most", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self.most: int | None = None
        self.layouts: dict[tuple[int, ...], Layout] = {}


_masks: Any = WeakTensorKeyDictionary()  # of _Found, which goes with its mask


def most_seen(block_mask: Tensor) -> int:
    """The most blocks that a row sees, for which the first call with a mask waits for the GPU.

    Args:
        block_mask: Bool, with at least one element.
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
    """The blocks that a mask has gathered.

    Args:
        block_mask: The mask as the caller gave it.
        seen: The same, of every sample and head: [N, H, rows, columns].
        keys: Of a block.
        most: Blocks that are gathered for a row.
        gradients: Whether the inverse is needed.
    """
    found = _found(block_mask)
    stream = raw_stream(seen.get_device()) if seen.is_cuda else 0
    # A graph would read what is gone once its mask is written to; another stream, what may not be
    # there yet.
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
    """What is known of a mask; None of one that cannot be told from another, or has no version."""
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
