"""Memory of pictures on the host, pinned if a GPU is to read or write it directly."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from models.inference.frame_pipeline import Pixels

MOST_PINNED = 3 * 3840 * 2160  # bytes of a picture


def pinned_like(like: Tensor) -> Tensor:
    """Allocate host memory for copies to and from the GPU.

    Large pictures, which are not streams, get unpinned memory: PyTorch would never free the other.
    """
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=like.numel() <= MOST_PINNED)


def new_pinned_pixels(height: int, width: int) -> Pixels:
    """Allocate pixels [height, width, 3], not initialized, whose memory `pinned_tensor` finds.

    PyTorch's allocator recycles the memory, but not before uploads from it have finished.
    """
    pinned = 3 * height * width <= MOST_PINNED
    with torch.inference_mode(False):
        return torch.empty(height, width, 3, dtype=torch.uint8, pin_memory=pinned).numpy()


def pinned_tensor(pixels: Pixels) -> Tensor | None:
    """Return the tensor that owns the pinned memory of all of `pixels`, or None."""
    base = pixels.base  # for a slice, the array of the whole
    return base if isinstance(base, Tensor) and base.is_pinned() else None


def upload(pixels: Pixels, staging: Tensor, frame: Tensor) -> None:
    """Start copying pixels, [H, W, 3] uint8, to `frame` on a GPU, on the current stream.

    They may change once this returns, unless they are in pinned memory. Other pixels go through
    `staging`, pinned memory of their size that is not in use.
    """
    pinned = pinned_tensor(pixels)
    if pinned is None:
        dense = np.ascontiguousarray(pixels)
        staging.copy_(_view(dense))  # multithreaded, unlike numpy's
        pinned = staging
    frame.copy_(pinned, non_blocking=True)


def _view(pixels: Pixels) -> Tensor:
    """Return a tensor on the memory of dense pixels that holds no reference; do not write to it.

    Unlike torch.from_numpy, this does not warn about read-only pixels.
    """
    memory = _bytes(pixels.size).from_address(pixels.ctypes.data)
    return torch.frombuffer(memory, dtype=torch.uint8).view(pixels.shape)


@lru_cache(maxsize=8)
def _bytes(count: int) -> type[ctypes.Array[ctypes.c_ubyte]]:
    """Return an array type; creating one takes longer than copying a frame."""
    return ctypes.c_ubyte * count
