"""The settings of a virtual camera before it is opened. Imports nothing slow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.errors import StyleForgeError
from utils.translation.texts import tr

SMALLEST, LARGEST = 16, 7680  # pixels a side


class VirtualCameraError(StyleForgeError):
    """Raised if there is no virtual camera, or it cannot be used."""


@dataclass(frozen=True, slots=True)
class CameraChoice:
    """The settings to open a virtual camera with; they are fixed while it is open.

    Attributes:
        width: In pixels; even, like `height`.
        rate: Pictures per second.
        format: A key of app.options.CAMERA_FORMATS.
        fit: A key of app.options.CAMERA_FITS, for pictures of another shape.
        device: "/dev/video2" or "OBS Virtual Camera"; "" for the first one found.
        always: Whether to send pictures even while no program reads them.
    """

    width: int = 1280
    height: int = 720
    rate: int = 30
    format: str = "auto"
    fit: str = "whole"
    device: str = ""
    always: bool = False

    @property
    def size(self) -> str:
        return f"{self.width}x{self.height}"


def parse_size(text: str) -> tuple[int, int]:
    """Parse "1280x720" into (width, height) in pixels.

    Raises:
        ValueError: If the sides are not even numbers from SMALLEST to LARGEST.
    """
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text, re.ASCII)
    sides = [int(side) for side in match.groups()] if match else []
    if not sides or not all(SMALLEST <= side <= LARGEST and side % 2 == 0 for side in sides):
        raise ValueError(
            tr(
                "a camera's size is two even numbers from {smallest} to {largest}, such as "
                "1280x720, not {given}",
                smallest=SMALLEST,
                largest=LARGEST,
                given=text,
            )
        )
    return sides[0], sides[1]
