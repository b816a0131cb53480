"""Moves paintings with the scene on the CPU, with native kernels."""

from __future__ import annotations

from ctypes import c_int

import numpy as np
import torch
from numpy.typing import NDArray

from kernels.frames.native_smoothing import ADDRESS, NUMBER, open_stream

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB


class NativeMover:
    """The last paintings of a stream of one size. Not thread-safe.

    app.engine.post.moving_reference.ReferenceMover describes the method.

    Raises:
        KeyError: If the native library is not loaded, see `native_smoothing.is_ready`.
    """

    def __init__(self, height: int, width: int) -> None:
        self.size = height, width
        launcher, self._kept = open_stream("moving", height, width)
        self._begins = True
        pictures = NUMBER, ADDRESS, ADDRESS, ADDRESS, NUMBER, NUMBER
        self._painted = launcher.function("styleforge_moving_painted", *pictures, c_int)
        self._shown = launcher.function("styleforge_moving_shown", *pictures)

    def painted(self, painting: Pixels, source: Pixels) -> None:
        """Take a new painting of `source`, both [H, W, 3].

        Raises:
            ValueError: If a picture has another size.
        """
        self._check(painting, source)
        painting, source = np.ascontiguousarray(painting), np.ascontiguousarray(source)
        addresses = self._kept.data_ptr(), source.ctypes.data, painting.ctypes.data
        self._painted(torch.get_num_threads(), *addresses, *self.size, self._begins)
        self._begins = False

    def shown(self, source: Pixels) -> Pixels:
        """Return the last painting, [H, W, 3], moved with the scene to the frame `source`.

        Raises:
            ValueError: If there is no painting, or the frame has another size.
        """
        if self._begins:
            raise ValueError("there is no painting yet")
        self._check(source)
        source = np.ascontiguousarray(source)
        shown = np.empty_like(source)
        addresses = self._kept.data_ptr(), source.ctypes.data, shown.ctypes.data
        self._shown(torch.get_num_threads(), *addresses, *self.size)
        return shown

    def _check(self, *pictures: Pixels) -> None:
        for each in pictures:
            if each.shape != (*self.size, 3):
                raise ValueError(f"a stream of {self.size} got a picture of {each.shape}")
