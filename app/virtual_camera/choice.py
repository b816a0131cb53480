"""What is chosen of a virtual camera before it is opened. Imports nothing slow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.errors import StyleForgeError
from utils.translation.texts import tr

SMALLEST, LARGEST = 16, 7680  # pixels a side


class VirtualCameraError(StyleForgeError):
    """There is no virtual camera, or it cannot be used."""


@dataclass(frozen=True, slots=True)
class CameraChoice:
    """A virtual camera as it is to be opened; none of it changes while it is open.

    Attributes:
        width: In pixels; even.
        height: In pixels; even.
        rate: Pictures per second.
        format: A key of app.options.CAMERA_FORMATS.
        fit: A key of app.options.CAMERA_FITS, for pictures of another shape.
        device: "/dev/video2" or "OBS Virtual Camera"; "" for the first that there is.
        always: Whether to send pictures although no program reads them.
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
        """The size as `parse_size` reads it."""
        return f"{self.width}x{self.height}"


def parse_size(text: str) -> tuple[int, int]:
    """Parse "1280x720".

    Returns:
        (width, height) in pixels.

    Raises:
        ValueError: It is no size that a camera can have; the message is one sentence.
    """
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text, re.ASCII)
    sides = [int(side) for side in match.groups()] if match else []
    if not sides or not all(SMALLEST <= side <= LARGEST and side % 2 == 0 for side in sides):
        raise ValueError(
            tr(
                "a camera's size is its width and height, even numbers of {smallest} to {largest}, "
                "as in 1280x720, not {given}",
                smallest=SMALLEST,
                largest=LARGEST,
                given=text,
            )
        )
    return sides[0], sides[1]
