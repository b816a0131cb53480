"""Enlarges results to displayed pictures on the CPU with native kernels, like frame.cu on a GPU."""

from __future__ import annotations

from ctypes import c_double, c_int

import numpy as np
import torch
from numpy.typing import NDArray

from kernels.frames.native_smoothing import ADDRESS, NUMBER, open_stream

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB


class NativeFinisher:
    """Enlarges results of one size. Not thread-safe.

    Raises:
        KeyError: If the native library is not loaded, see `native_smoothing.is_ready`.
    """

    def __init__(self, height: int, width: int) -> None:
        self.size = height, width
        launcher, self._memory = open_stream("finishing", height, width)
        small, large = (ADDRESS, ADDRESS, NUMBER, NUMBER), (ADDRESS, ADDRESS, NUMBER, NUMBER)
        types = NUMBER, ADDRESS, *small, *large, c_int, c_double
        self._finish = launcher.function("styleforge_finish", *types)

    def finish(
        self,
        result: Pixels,
        source: Pixels | None,
        frame: Pixels,
        strength: float = 1.0,
        keep_colors: bool = False,
    ) -> Pixels:
        """Return the displayed picture, in the frame's size.

        Args:
            result: The network's result, [h, w, 3].
            source: The scaled frame that the result was made from, [h, w, 3], to add the detail
                that the frame has beyond it; None to add none.
            frame: The frame, [H, W, 3].
            strength: 0 for the frame, 1 for the result.
            keep_colors: Whether to use the frame's chroma (of YCrCb).

        Raises:
            ValueError: If a small picture has another size.
        """
        smalls = (result,) if source is None else (result, source)
        for each in smalls:
            if each.shape != (*self.size, 3):
                raise ValueError(f"a picture of {each.shape} is not of {self.size}")
        if frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(f"a frame of {frame.shape} is not RGB")
        result, frame = np.ascontiguousarray(result), np.ascontiguousarray(frame)
        source = None if source is None else np.ascontiguousarray(source)
        picture = np.empty_like(frame)
        self._finish(
            torch.get_num_threads(),
            self._memory.data_ptr(),
            result.ctypes.data,
            None if source is None else source.ctypes.data,
            *self.size,
            frame.ctypes.data,
            picture.ctypes.data,
            *frame.shape[:2],
            keep_colors,
            float(strength),
        )
        return picture
