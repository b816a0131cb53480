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
        exif: EXIF data for an upright picture without a thumbnail, in Pillow's encoding, or empty.
        profile: Its RGB profile; None for sRGB.
        tagged: Whether it had any profile, so that results receive one.
        native: [H, W, 3] uint8 or uint16, the picture in the profile's colors; None without one.
    """

    exif: bytes = b""
    profile: ColorProfile | None = None
    tagged: bool = False
    native: NDArray[np.uint8 | np.uint16] | None = None

    def in_profile(self, pixels: NDArray[D], source: NDArray[D], share: float) -> NDArray[D]:
        """Convert a result, [H, W, 3] uint8 or uint16, from sRGB to the picture's profile, if any.

        The network did not see colors of the picture outside sRGB. They are added again, in
        proportion to `share`, 0 to 1, of the picture's own colors in the result. `source` is the
        picture in sRGB, of the same dtype.
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
