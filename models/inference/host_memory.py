"""Memory of pictures on the host, pinned where a GPU is to read or write it by itself."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from models.inference.frame_pipeline import Pixels

MOST_PINNED = 3 * 3840 * 2160  # bytes of a picture


def pinned_like(like: Tensor) -> Tensor:
    """Memory to copy from and to; that of large pictures, which are no streams, is not pinned:
    PyTorch would keep it from the system for ever."""
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=like.numel() <= MOST_PINNED)


def new_pinned_pixels(height: int, width: int) -> Pixels:
    """New pixels [height, width, 3] that `pinned_tensor` finds the memory of; not initialized.

    PyTorch's allocator recycles the memory, and not before uploads from it are done.
    """
    pinned = 3 * height * width <= MOST_PINNED
    with torch.inference_mode(False):
        return torch.empty(height, width, 3, dtype=torch.uint8, pin_memory=pinned).numpy()


def pinned_tensor(pixels: Pixels) -> Tensor | None:
    """The tensor on whose pinned memory the whole of `pixels` lies; None where there is none."""
    base = pixels.base  # of a part, it is the array of the whole
    return base if isinstance(base, Tensor) and base.is_pinned() else None


def upload(pixels: Pixels, staging: Tensor, frame: Tensor) -> None:
    """Start copying pixels to a GPU, on the current stream.

    Args:
        pixels: [H, W, 3] uint8; may change once this returns, but for those in pinned memory.
        staging: Pinned memory of their size, not in use, for pixels that lie elsewhere.
        frame: [H, W, 3] uint8 on the GPU.
    """
    pinned = pinned_tensor(pixels)
    if pinned is None:
        dense = np.ascontiguousarray(pixels)
        staging.copy_(_view(dense))  # on several threads, unlike numpy's
        pinned = staging
    frame.copy_(pinned, non_blocking=True)


def _view(pixels: Pixels) -> Tensor:
    """The memory of dense pixels, which it does not keep. They are not to be written to; PyTorch
    would warn of that."""
    memory = _bytes(pixels.size).from_address(pixels.ctypes.data)
    return torch.frombuffer(memory, dtype=torch.uint8).view(pixels.shape)


@lru_cache(maxsize=8)
def _bytes(count: int) -> type[ctypes.Array[ctypes.c_ubyte]]:
    """The type of an array; to make one takes longer than to copy a frame."""
    return ctypes.c_ubyte * count
