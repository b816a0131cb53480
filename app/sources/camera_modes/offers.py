"""The sizes and rates that a camera offers."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from app.sources.camera_modes.v4l2 import Sizes
from utils.translation.texts import mark

USUAL_SIZES = (
    (320, 240),
    (640, 360),
    (640, 480),
    (800, 600),
    (960, 540),
    (1280, 720),
    (1600, 1200),
    (1920, 1080),
    (2560, 1440),
    (3840, 2160),
)
USUAL_RATES = (15.0, 24.0, 25.0, 30.0, 50.0, 60.0)
NAMED = mark("The camera's driver reports these sizes")
UNNAMED = mark(
    "The camera's driver reports no sizes; these are the usual ones, and the camera uses the "
    "nearest"
)


@dataclass(frozen=True, slots=True)
class Offers:
    """The modes to choose from.

    `sizes` are [width, height] in pixels, each with its rates in Hz; `remark` says if the driver
    listed them.
    """

    sizes: Sizes
    remark: str

    def rates(self, size: tuple[int, int]) -> tuple[float, ...]:
        """Return the rates of a size; the usual ones if the driver lists none."""
        return self.sizes.get(size) or USUAL_RATES


USUAL = Offers(dict.fromkeys(USUAL_SIZES, USUAL_RATES), UNNAMED)


def offers_of(index: int) -> Offers:
    """Return the modes of a camera (OpenCV's index), from its driver if the system can."""
    if sys.platform != "linux":
        return USUAL
    from app.sources.camera_modes.v4l2 import sizes_of

    try:
        sizes = sizes_of(f"/dev/video{index}", USUAL_SIZES)
    except OSError:  # unplugged, or no permission: opening the camera reports it
        return USUAL
    return Offers(sizes, NAMED) if sizes else USUAL
