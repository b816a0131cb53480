"""The encoding of a film's pixels: matrix, range, primaries, transfer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.errors import StyleForgeError
from utils.pyav import av
from utils.translation.texts import tr

# Code points of ITU-T H.273, which FFmpeg and the files use.
RGB, BT709, UNKNOWN, FCC, BT470BG, BT601, SMPTE240M, BT2020, BT2020_CL = 0, 1, 2, 4, 5, 6, 7, 9, 10
PQ, HLG = 16, 18  # transfer characteristics of HDR
LIMITED, FULL = 1, 2  # FFmpeg's numbers of the ranges

# The supported matrices, each with the shares of red and blue in luma and its number in FFmpeg's
# scaler.
MATRICES = {
    BT709: (0.2126, 0.0722, 1),
    FCC: (0.30, 0.11, 4),
    BT470BG: (0.299, 0.114, 5),
    BT601: (0.299, 0.114, 5),
    SMPTE240M: (0.212, 0.087, 7),
    BT2020: (0.2627, 0.0593, 9),
    BT2020_CL: (0.2627, 0.0593, 9),
}


class ColorError(StyleForgeError):
    """Raised if the colors of a film are not known; the message is a clause."""


@dataclass(frozen=True, slots=True)
class Colors:
    """The encoding of a film's pixels, in code points of ITU-T H.273.

    Attributes:
        matrix: From RGB to luma and chroma; RGB if there is none.
        full: Whether black and white are 0 and 255 (of 8 bits), not 16 and 235.
        primaries: The primaries; UNKNOWN, like `transfer`, if the film does not tell.
    """

    matrix: int
    full: bool
    primaries: int = UNKNOWN
    transfer: int = UNKNOWN

    @property
    def hdr(self) -> bool:
        return self.transfer in (PQ, HLG)

    def coded(self, width: int, height: int, *, limited: bool = False, rgb: bool = False) -> Colors:
        """Return the colors of a film in pixels encoded from this one.

        `limited` means that the codec has no full range, `rgb` that it stores RGB.
        """
        if rgb:
            return replace(self, matrix=RGB, full=True)
        if self.matrix == RGB:
            return replace(self, matrix=usual_matrix(width, height), full=False)
        return replace(self, full=self.full and not limited)


def usual_matrix(width: int, height: int) -> int:
    """Return players' default: BT.709 above 576 lines or from 1280 columns on, else BT.601."""
    return BT709 if width >= 1280 or height > 576 else BT601


def colors_of(frame: av.VideoFrame) -> Colors:
    """Return a decoded frame's colors, or defaults.

    Raises:
        ColorError: If the frame's matrix is unknown.
    """
    primaries, transfer = int(frame.color_primaries), int(frame.color_trc)
    if frame.format.is_rgb:
        return Colors(RGB, True, primaries, transfer)
    full = int(frame.color_range) == FULL or frame.format.name.startswith("yuvj")
    matrix = int(frame.colorspace)
    if matrix in (UNKNOWN, RGB):  # RGB is wrong for a frame with luma
        matrix = usual_matrix(frame.width, frame.height)
    if matrix not in MATRICES:
        raise ColorError(tr("its color matrix (number {number}) is not supported", number=matrix))
    return Colors(matrix, full, primaries, transfer)
