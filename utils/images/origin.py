"""Data in a picture file, besides its pixels, that results of the picture preserve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from utils.images.profiles import ColorProfile

ROWS = 256  # converted at once
D = TypeVar("D", bound=np.uint8 | np.uint16)


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Data read along with a picture.

    Attributes:
        exif: EXIF data for an upright picture without a thumbnail, in Pillow's encoding; empty if
            the file has none.
        profile: Its RGB profile; None for sRGB.
        tagged: Whether it had any profile, so that results receive one.
        native: [H, W, 3] uint8 or uint16, the picture in the colors of the profile; None without
            one.
    """

    exif: bytes = b""
    profile: ColorProfile | None = None
    tagged: bool = False
    native: NDArray[np.uint8 | np.uint16] | None = None

    def in_profile(self, pixels: NDArray[D], source: NDArray[D], share: float) -> NDArray[D]:
        """Convert a result to the profile of the picture.

        The network did not see colors of the picture outside sRGB. They are added again, in
        proportion to the share of the picture's own colors in the result.

        Args:
            pixels: The result in sRGB, [H, W, 3] uint8 or uint16.
            source: The picture in sRGB, of the same dtype.
            share: The share of the picture's own colors in the result, 0 to 1.

        Returns:
            The result in the colors of the profile, or `pixels` without a profile.
        """
        if self.profile is None:
            return pixels
        native = self.native
        out = self.profile.from_srgb(pixels)
        if share <= 0 or native is None or native.shape != pixels.shape:
            return out
        most = np.iinfo(out.dtype).max
        for top in range(0, len(out), ROWS):
            band = slice(top, top + ROWS)
            known = self.profile.from_srgb(source[band])
            beyond = (_as(native[band], out.dtype) - known) * np.float32(share)
            out[band] = np.rint(np.clip(out[band] + beyond, 0, most))
        return out


def _as(pixels: NDArray[np.uint8 | np.uint16], dtype: np.dtype[D]) -> NDArray[np.float32]:
    scale = np.iinfo(dtype).max / np.iinfo(pixels.dtype).max
    return pixels.astype(np.float32) * np.float32(scale)


NO_ORIGIN = Origin()
