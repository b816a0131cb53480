"""The orientation of a film: the display matrix that cameras write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utils.pyav import av

_ONE = 1 << 16  # 1 in the fixed point of the matrix


@dataclass(frozen=True, slots=True)
class Orientation:
    """The transformation from stored to upright pixels: transposition first, then flips.

    `transposed` exchanges columns and rows, `mirrored` left and right, `flipped` top and bottom.
    """

    transposed: bool = False
    mirrored: bool = False
    flipped: bool = False

    def size(self, width: int, height: int) -> tuple[int, int]:
        return (height, width) if self.transposed else (width, height)

    def upright(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return an upright view of stored pixels [H, W, 3]."""
        if self.transposed:
            pixels = pixels.transpose(1, 0, 2)
        if self.mirrored:
            pixels = pixels[:, ::-1]
        if self.flipped:
            pixels = pixels[::-1]
        return pixels


AS_STORED = Orientation()


def orientation_of(frame: av.VideoFrame) -> Orientation:
    """Read the display matrix of a decoded frame (ISO/IEC 14496-12, 8.3.2).

    AS_STORED without a matrix, or if it does not turn by a multiple of 90 degrees.
    """
    kind = av.sidedata.sidedata.Type.DISPLAYMATRIX
    side: Any = frame.side_data  # its stub lists only one kind
    data = next((each for each in side if each.type == kind), None)
    if data is None:
        return AS_STORED
    a, b, _, c, d, *_ = (int(number) for number in np.frombuffer(bytes(data), np.int32))
    # A stored point (column p, row q) is shown at (a p + c q, b p + d q).
    if abs(a) == abs(d) == _ONE and b == c == 0:
        return Orientation(mirrored=a < 0, flipped=d < 0)
    if abs(b) == abs(c) == _ONE and a == d == 0:
        return Orientation(transposed=True, mirrored=c < 0, flipped=b < 0)
    return AS_STORED
