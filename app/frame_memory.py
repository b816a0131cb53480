"""Memory for the pixels of new frames, of the kind that the engine's device reads fastest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Allocate = Callable[[int, int], NDArray[np.uint8]]  # height and width to [height, width, 3]


def pageable(height: int, width: int) -> NDArray[np.uint8]:
    """Allocate ordinary memory, for a processor to read; not initialized."""
    return np.empty((height, width, 3), np.uint8)


_allocate: Allocate = pageable


def allocate_by(allocate: Allocate) -> None:
    """Make `allocate` the allocator for the pixels of new frames; any thread may call it.

    The engine sets it for its device. Frames in other memory are copied if necessary.
    """
    global _allocate
    _allocate = allocate


def new_pixels(height: int, width: int) -> NDArray[np.uint8]:
    """Allocate pixels [height, width, 3] uint8 for a frame, to be written once; not initialized."""
    return _allocate(height, width)
