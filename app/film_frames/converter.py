"""Conversion of film frames to RGB in the engine's memory, and of RGB for an encoder."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.film_frames.color import FULL, LIMITED, MATRICES, Colors
from app.film_frames.orientation import AS_STORED, Orientation
from app.film_frames.planes import Matrix, over_white, plane_pixels
from app.film_frames.transparency import has_alpha
from app.frame_memory import new_pixels
from utils.pyav import av

# The bits of pixel formats with separate luma and chroma planes. FFmpeg's scaler converts all other
# formats.
_PLANES = {
    **dict.fromkeys(("yuv420p", "yuv422p", "yuv444p", "yuvj420p", "yuvj422p", "yuvj444p"), 8),
    **dict.fromkeys(("yuv420p10le", "yuv422p10le", "yuv444p10le"), 10),
    **dict.fromkeys(("yuv420p12le", "yuv422p12le", "yuv444p12le"), 12),
}
_FLAGS = av.video.reformatter.Interpolation
# Without exact rounding, values are rounded down: a gray ramp that is read, written and read again
# is then off by 2 of 255.
_EXACT = int(_FLAGS.BILINEAR | _FLAGS.FULL_CHR_H_INT | _FLAGS.ACCURATE_RND)
_FAST = int(_FLAGS.BILINEAR)


class Converter:
    """A thread-safe converter for one film; `colors` apply to frames that are not RGB.

    `exact` rounds exactly and interpolates colors, in 4 ms of a core for a frame of 1080p;
    otherwise reading takes 1 ms, for films that play.
    """

    def __init__(
        self, colors: Colors, orientation: Orientation = AS_STORED, *, exact: bool = True
    ) -> None:
        self.colors, self._orientation, self._exact = colors, orientation, exact
        self._range = FULL if colors.full else LIMITED
        self._number: int | None = None
        self._matrices: dict[int, Matrix] = {}  # by bits; empty for RGB
        if colors.matrix in MATRICES:
            red, blue, self._number = MATRICES[colors.matrix]
            self._matrices = {
                bits: Matrix(red, blue, full=colors.full, bits=bits) for bits in (8, 10, 12)
            }
        self._of_thread = threading.local()

    def to_rgb(self, frame: av.VideoFrame, width: int, height: int) -> NDArray[np.uint8]:
        """Convert a frame with any number of bits to upright [H, W, 3] uint8 RGB in new memory.

        Width and height are as stored, in pixels; a frame of another size is scaled. Transparent
        pixels are over white.
        """
        whole = (frame.width, frame.height) == (width, height)
        bits = _PLANES.get(frame.format.name, 0)
        if self._exact and whole and bits in self._matrices:
            pixels = new_pixels(height, width)
            self._matrices[bits].to_rgb(_planes(frame, bits), pixels)
            if self._orientation == AS_STORED:
                return pixels
        else:
            pixels = self._scaled(frame, width, height)
        return _copied(self._orientation.upright(pixels))

    def from_rgb(self, pixels: NDArray[np.uint8], pixel_format: str) -> av.VideoFrame:
        """Convert [H, W, 3] uint8 RGB to a frame for an encoder, in FFmpeg's `pixel_format`.

        H and W must be even if the format stores one color per pair of pixels.
        """
        pixels = np.ascontiguousarray(pixels)
        height, width = pixels.shape[:2]
        if self._matrices and pixel_format == "yuv420p":
            made = av.VideoFrame(width, height, pixel_format)
            self._matrices[8].from_rgb(pixels, _planes(made))
        else:
            made = self._scaler.reformat(
                av.VideoFrame.from_ndarray(pixels, format="rgb24"),
                format=pixel_format,
                src_colorspace=self._number,
                dst_colorspace=self._number,
                interpolation=_EXACT,
                src_color_range=FULL,
                dst_color_range=self._range,
                threads=1,
            )
        made.colorspace, made.color_range = self.colors.matrix, self._range
        made.color_primaries, made.color_trc = self.colors.primaries, self.colors.transfer
        return made

    @property
    def _scaler(self) -> av.video.reformatter.VideoReformatter:
        of_thread = self._of_thread
        if not hasattr(of_thread, "scaler"):
            of_thread.scaler = av.video.reformatter.VideoReformatter()
        return of_thread.scaler

    def _scaled(self, frame: av.VideoFrame, width: int, height: int) -> NDArray[np.uint8]:
        transparent = has_alpha(frame)
        rgb = self._scaler.reformat(
            frame,
            width,
            height,
            "rgba" if transparent else "rgb24",
            src_colorspace=self._number,
            dst_colorspace=self._number,
            interpolation=_EXACT if self._exact else _FAST,
            src_color_range=self._range,
            dst_color_range=FULL,
            threads=1,
        )
        (plane,) = rgb.planes
        channels = 4 if transparent else 3
        rows = plane_pixels(memoryview(plane), plane.line_size, channels * width, height)
        pixels = rows.reshape(height, width, channels)
        return over_white(pixels) if transparent else pixels


def _planes(frame: av.VideoFrame, bits: int = 8) -> list[Any]:
    """Return luma and both chroma planes, each [H, W] uint8, or uint16 for more than 8 bits."""
    number = np.dtype(np.uint8 if bits == 8 else "<u2")
    return [
        plane_pixels(
            memoryview(plane), plane.line_size, plane.width * number.itemsize, plane.height
        ).view(number)
        for plane in frame.planes
    ]


def _copied(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Copy [H, W, 3] uint8 pixels to memory that the engine's device reads fastest."""
    kept = new_pixels(*pixels.shape[:2])
    np.copyto(kept, pixels)
    return kept
