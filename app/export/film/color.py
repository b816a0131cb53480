"""Colors of films: frames become RGB, and RGB frames, by the film's matrix and range."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.export.film.fault import FilmError
from app.frame_memory import new_pixels
from utils.pyav import av

# Code points of ITU-T H.273, which FFmpeg and the files use.
RGB, BT709, UNKNOWN, FCC, BT470BG, BT601, SMPTE240M, BT2020, BT2020_CL = 0, 1, 2, 4, 5, 6, 7, 9, 10
PQ, HLG = 16, 18  # transfer characteristics of HDR
LIMITED, FULL = 1, 2  # FFmpeg's numbers of the ranges

# The matrices that FFmpeg converts by, in the numbers of its scaler.
_MATRICES = {BT709: 1, FCC: 4, BT470BG: 5, BT601: 5, SMPTE240M: 7, BT2020: 9, BT2020_CL: 9}
_FLAGS = av.video.reformatter.Interpolation
# Without exact rounding (0.6 ms of a core for a frame of 1080p, not 15) what is read is rounded
# down: a gray ramp that is read, written and read again is then 2 of 255 off.
_EXACT = int(_FLAGS.BILINEAR | _FLAGS.FULL_CHR_H_INT | _FLAGS.ACCURATE_RND)


@dataclass(frozen=True, slots=True)
class Colors:
    """What the numbers of a film's pixels mean, in code points of ITU-T H.273.

    Attributes:
        matrix: From RGB to luma and chroma; RGB where there is none.
        full: Whether black and white are 0 and 255 (of 8 bits), not 16 and 235.
        primaries: Of the three colors; UNKNOWN where the film does not say.
        transfer: From light to numbers; UNKNOWN where the film does not say.
    """

    matrix: int
    full: bool
    primaries: int = UNKNOWN
    transfer: int = UNKNOWN

    @property
    def hdr(self) -> bool:
        """Whether the film has a high dynamic range."""
        return self.transfer in (PQ, HLG)

    def coded(self, width: int, height: int, *, limited: bool = False, rgb: bool = False) -> Colors:
        """The colors of a result of these.

        Args:
            width: Of the film, in pixels.
            height: Of the film, in pixels.
            limited: Whether the codec has no full range.
            rgb: Whether the codec keeps RGB.
        """
        if rgb:
            return replace(self, matrix=RGB, full=True)
        if self.matrix == RGB:
            return replace(self, matrix=usual_matrix(width, height), full=False)
        return replace(self, full=self.full and not limited)


def usual_matrix(width: int, height: int) -> int:
    """The matrix of a film that does not say: BT.709 from 720 lines on, BT.601 below, as players
    have it."""
    return BT709 if width >= 1280 or height > 576 else BT601


def colors_of(frame: av.VideoFrame) -> Colors:
    """The colors of a decoded frame, with the usual ones where it does not say.

    Raises:
        FilmError: FFmpeg does not convert by its matrix.
    """
    primaries, transfer = int(frame.color_primaries), int(frame.color_trc)
    if frame.format.is_rgb:
        return Colors(RGB, True, primaries, transfer)
    full = int(frame.color_range) == FULL or frame.format.name.startswith("yuvj")
    matrix = int(frame.colorspace)
    if matrix in (UNKNOWN, RGB):  # RGB is wrong of a frame that has luma
        matrix = usual_matrix(frame.width, frame.height)
    if matrix not in _MATRICES:
        raise FilmError(f"its colors have a matrix (number {matrix}) that is not supported")
    return Colors(matrix, full, primaries, transfer)


class Converter:
    """Converts frames of one film. For one thread.

    Args:
        colors: Of the frames that are not RGB.
    """

    def __init__(self, colors: Colors) -> None:
        self.colors = colors
        self._matrix = _MATRICES.get(colors.matrix)
        self._range = FULL if colors.full else LIMITED
        self._scaler = av.video.reformatter.VideoReformatter()

    def to_rgb(self, frame: av.VideoFrame, width: int, height: int) -> NDArray[np.uint8]:
        """Convert a decoded frame of any bits.

        Args:
            frame: In the colors of the film.
            width: To scale to, in pixels; that of the frame for none.
            height: To scale to, in pixels.

        Returns:
            [H, W, 3] uint8 RGB, a view of memory of its own.
        """
        rgb = self._scaler.reformat(
            frame,
            width,
            height,
            "rgb24",
            src_colorspace=self._matrix,
            dst_colorspace=self._matrix,
            interpolation=_EXACT,
            src_color_range=self._range,
            dst_color_range=FULL,
        )
        (plane,) = rgb.planes
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        return rows[:height, : 3 * width].reshape(height, width, 3)

    def from_rgb(self, pixels: NDArray[np.uint8], pixel_format: str) -> av.VideoFrame:
        """Make a frame for an encoder.

        Args:
            pixels: [H, W, 3] uint8 RGB.
            pixel_format: FFmpeg's name of the encoder's format.
        """
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
        made = self._scaler.reformat(
            frame,
            format=pixel_format,
            src_colorspace=self._matrix,
            dst_colorspace=self._matrix,
            interpolation=_EXACT,
            src_color_range=FULL,
            dst_color_range=self._range,
        )
        made.colorspace, made.color_range = self.colors.matrix, self._range
        made.color_primaries, made.color_trc = self.colors.primaries, self.colors.transfer
        return made


def copied(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A copy of [H, W, 3] uint8 pixels in memory that the engine's device reads fastest."""
    kept = new_pixels(*pixels.shape[:2])
    np.copyto(kept, pixels)
    return kept
