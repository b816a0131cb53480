"""Smooths a stream of frames on the CPU with native kernels, bit-identical to a GPU."""

from __future__ import annotations

from ctypes import c_double, c_int, c_longlong, c_void_p

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.frames.smoothing import CELL
from kernels.frames.stream_state import StreamState, copied, refill
from kernels.jit import build
from kernels.table.launcher import CpuLauncher
from kernels.table.names import SMOOTHING
from kernels.table.status import use_native
from utils.translation.texts import tr

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB

ADDRESS, NUMBER = c_void_p, c_longlong  # types of C arguments


def is_ready() -> bool:
    """Return whether the native kernels can smooth streams, loading them if needed.

    If they cannot, a NativeKernelWarning says once why not.
    """
    return build.reason(SMOOTHING) == "" or use_native(SMOOTHING)


def unavailable_reason() -> str:
    """Return why the reference smooths streams instead; "" if it does not."""
    reason = build.reasons().get(SMOOTHING, "")
    return tr("smoothing runs on NumPy and OpenCV: {reason}", reason=tr(reason)) if reason else ""


def open_stream(kind: str, height: int, width: int) -> tuple[CpuLauncher, Tensor]:
    """Return the library and the memory of a stream, as many bytes as `kind`'s function says.

    Raises:
        KeyError: If the native library is not loaded, see `is_ready`.
    """
    launcher = CpuLauncher(build.handle(SMOOTHING))
    size = getattr(launcher.library, f"styleforge_{kind}_bytes")
    size.restype, size.argtypes = NUMBER, (NUMBER, NUMBER)
    return launcher, torch.zeros(size(height, width), dtype=torch.uint8)


class NativeStream:
    """A stream of pictures of one size. Not thread-safe.

    Raises:
        KeyError: If the native library is not loaded, see `is_ready`.
    """

    def __init__(self, height: int, width: int) -> None:
        self.size = height, width
        launcher, self._kept = open_stream("smoothing", height, width)
        self._begins = True
        pictures = (ADDRESS,) * 4
        types = (NUMBER, *pictures, NUMBER, NUMBER, c_int, c_double)
        self._smooth = launcher.function("styleforge_smooth", *types)
        types = (NUMBER, ADDRESS, ADDRESS, NUMBER, NUMBER)
        self._motion = launcher.function("styleforge_smoothing_motion", *types)

    def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
        """Return a new, filtered picture; equal to `result` after a cut and for the first frame.

        `source` is the picture that `result` was made from. `amount` is 0 for none, 1 for the
        most.

        Raises:
            ValueError: If a picture has another size.
        """
        if result.shape != (*self.size, 3) or source.shape != result.shape:
            raise ValueError(
                f"a stream of {self.size} got pictures of {result.shape} and {source.shape}"
            )
        result, source = np.ascontiguousarray(result), np.ascontiguousarray(source)
        smoothed = np.empty_like(result)
        pictures = (each.ctypes.data for each in (source, result, smoothed))
        threads = torch.get_num_threads()
        self._smooth(
            threads, self._kept.data_ptr(), *pictures, *self.size, self._begins, float(amount)
        )
        self._begins = False
        return smoothed

    def state(self) -> StreamState:
        return {} if self._begins else copied({"kept": self._kept})

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If `state` has another frame size or comes from other kernels.
        """
        if state:
            refill({"kept": self._kept}, state)
        self._begins = not state

    def motion(self) -> NDArray[np.float32]:
        """Return where each cell was in the known source, [h / CELL, w / CELL, 2] float32.

        The values count cells to the right and down. They are zeros before the second frame.
        """
        rows, columns = (max(side // CELL, 1) for side in self.size)
        flow = np.empty((rows, columns, 2), np.float32)
        self._motion(1, self._kept.data_ptr(), flow.ctypes.data, *self.size)
        return flow
