"""Mattes by the difference to an empty scene on the CPU, with native kernels."""

from __future__ import annotations

from ctypes import c_int

import numpy as np
import torch
from numpy.typing import NDArray

from kernels.frames.native_smoothing import ADDRESS, NUMBER, open_stream
from kernels.jit import build
from kernels.table.launcher import CpuLauncher
from kernels.table.names import SMOOTHING

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
Floats = NDArray[np.float32]


class NativeMatting:
    """The mattes of a stream of frames of one size. Not thread-safe.

    app.engine.matting.reference.ReferenceMatting describes the method.

    Raises:
        KeyError: If the native library is not loaded, see `native_smoothing.is_ready`.
    """

    def __init__(self, height: int, width: int) -> None:
        self.size = height, width
        launcher, self._memory = open_stream("matting", height, width)
        sized = NUMBER, NUMBER
        start = NUMBER, ADDRESS
        self._scene = launcher.function(
            "styleforge_matting_scene", *start, ADDRESS, ADDRESS, *sized
        )
        self._rough = launcher.function(
            "styleforge_matting_rough", *start, ADDRESS, ADDRESS, ADDRESS, *sized, c_int
        )
        self._guide = launcher.function(
            "styleforge_matting_guide", *start, ADDRESS, ADDRESS, ADDRESS, *sized
        )

    def take_scene(self, colors: Floats, noise: Floats) -> None:
        """Compare frames with a scene: its colors, [h, w, 3], and noise, [h, w]."""
        colors, noise = _dense(colors), _dense(noise)
        self._scene(*self._start, colors.ctypes.data, noise.ctypes.data, *self.size)

    def rough(
        self, frame: Pixels, light: Floats | None, given: Floats | None, *, first: bool
    ) -> Floats:
        """Return the rough matte of the next frame, [h, w] from 0 to 1.

        Args:
            frame: [h, w, 3].
            light: Of the three channels, as a multiple of the scene's; None to take `given`.
            given: A matte from elsewhere, [h, w].
            first: Whether the frame begins a stream; other mattes keep some of the last one.

        Raises:
            ValueError: If the frame has another size.
        """
        if frame.shape != (*self.size, 3):
            raise ValueError(f"a stream of {self.size} got a frame of {frame.shape}")
        frame = np.ascontiguousarray(frame)
        rough = np.empty(self.size, np.float32) if given is None else _dense(given).copy()
        lights = None if light is None else _dense(light)
        self._rough(
            *self._start,
            frame.ctypes.data,
            None if lights is None else lights.ctypes.data,
            rough.ctypes.data,
            *self.size,
            first,
        )
        return rough

    def guided(self, rough: Floats) -> tuple[Floats, Floats]:
        """Refine a rough matte of the newest frame to a slope and a base, both [h, w].

        Slope times luma (0-255) plus base is the matte.
        """
        rough = _dense(rough)
        slope, base = np.empty(self.size, np.float32), np.empty(self.size, np.float32)
        addresses = (each.ctypes.data for each in (rough, slope, base))
        self._guide(*self._start, *addresses, *self.size)
        return slope, base

    @property
    def _start(self) -> tuple[int, int]:
        return torch.get_num_threads(), self._memory.data_ptr()


def native_mixed(
    painted: Pixels, frame: Pixels, slope: Floats, base: Floats, *, swapped: bool
) -> Pixels:
    """Mix a painting with its frame, both [H, W, 3], by a matte of any size, see `guided`.

    Args:
        swapped: Whether the painting is where the matte is 0.

    Raises:
        KeyError: If the native library is not loaded.
        ValueError: If the pictures differ in size.
    """
    if painted.shape != frame.shape or frame.shape[2:] != (3,):
        raise ValueError(f"a painting of {painted.shape} is not of a frame of {frame.shape}")
    sized = NUMBER, NUMBER
    addresses = ADDRESS, ADDRESS, ADDRESS, ADDRESS
    mix = CpuLauncher(build.handle(SMOOTHING)).function(
        "styleforge_matting_mix", NUMBER, *addresses, *sized, ADDRESS, *sized, c_int
    )
    painted, frame = np.ascontiguousarray(painted), np.ascontiguousarray(frame)
    slope, base, mixed = _dense(slope), _dense(base), np.empty_like(frame)
    given = (each.ctypes.data for each in (painted, frame, slope, base))
    large = mixed.ctypes.data, *frame.shape[:2]
    mix(torch.get_num_threads(), *given, *slope.shape, *large, swapped)
    return mixed


def _dense(values: Floats) -> Floats:
    return np.ascontiguousarray(values, np.float32)
