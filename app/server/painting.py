"""What the server asks of the engine: a contract that it is given with something that paints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.errors import StyleForgeError
from app.server.look import Look
from app.styles.library import Library
from app.styles.pack import Style


class Stopped(StyleForgeError):
    """A picture was given up before it was done, since nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class Painted:
    """What became of a picture.

    Attributes:
        ran: What ran, as "Fused, FP32, CPU: no CUDA device".
        seconds: How long it took, with reading and writing.
        remark: What the result lacks of the picture; may be empty.
    """

    ran: str
    seconds: float
    remark: str = ""


class Painter(Protocol):
    """Styles pictures with one engine, and makes styles of pictures. `paint`, `add_style` and
    `remove_style` are called on one thread."""

    @property
    def library(self) -> Library:
        """The styles there are."""
        ...

    @property
    def findings(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """What runs where, and why nothing faster does: by topic, each with "ok", "note" or
        "fault", as `styleforge doctor` prints it."""
        ...

    def check(self, look: Look) -> None:
        """Raise StyleForgeError where no picture could be styled so."""
        ...

    def add_style(self, picture: Path, title: str, stop: Callable[[], bool]) -> Style:
        """Make a style of a picture, which the user has from then on.

        Args:
            picture: Its file.
            title: Of the style; a number is appended if it is taken.
            stop: As of `paint`.

        Raises:
            Stopped: It was given up; there is no new style.
            StyleError: The picture cannot be used, or the style not be written.
        """
        ...

    def remove_style(self, key: str) -> None:
        """Remove a style of the user. Raises StyleError where there is none, or it stays."""
        ...

    def paint(self, source: Path, target: Path, look: Look, stop: Callable[[], bool]) -> Painted:
        """Style a picture.

        Args:
            source: Its file.
            target: The file of the result.
            look: How.
            stop: Whether it is to be given up, asked now and then.

        Raises:
            Stopped: It was.
            StyleForgeError: The engine cannot do it.
            ImageError: The picture cannot be read, or the result not be written.
            OSError: The disk is full.
        """
        ...
