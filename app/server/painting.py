"""The server's contract with the engine: a protocol that the caller implements."""

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
    """Raised if a picture was given up before it was done, since its client has left."""


@dataclass(frozen=True, slots=True)
class Painted:
    """The outcome for a picture.

    Attributes:
        ran: A description of what ran: "Fused, FP32, CPU: no CUDA device".
        seconds: How long it took, with reading and writing.
        remark: What the result lacks of the picture; may be empty.
    """

    ran: str
    seconds: float
    remark: str = ""


class Painter(Protocol):
    """An engine that styles pictures, and makes styles from pictures.

    The server calls `paint`, `add_style` and `remove_style` on one thread.
    """

    @property
    def library(self) -> Library:
        """The available styles."""
        ...

    @property
    def findings(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The report of `styleforge doctor` by topic, each line with "ok", "note" or "fault"."""
        ...

    def check(self, look: Look) -> None:
        """Check that pictures can be styled with a look.

        Raises:
            StyleForgeError: If not.
        """
        ...

    def add_style(self, picture: Path, title: str, stop: Callable[[], bool]) -> Style:
        """Make a style from a picture and add it to the user's styles.

        Args:
            title: Of the style; a number is appended if it is taken.
            stop: See `paint`.

        Raises:
            Stopped: If it was given up; there is no new style.
            StyleError: If the picture cannot be used, or the style cannot be written.
        """
        ...

    def remove_style(self, key: str) -> None:
        """Remove one of the user's styles.

        Raises:
            StyleError: If there is none, or it cannot be removed.
        """
        ...

    def paint(self, source: Path, target: Path, look: Look, stop: Callable[[], bool]) -> Painted:
        """Style a picture.

        Args:
            stop: Returns whether to give up; called now and then.

        Raises:
            Stopped: If it was given up.
            StyleForgeError: If the engine cannot do it.
            ImageError: If the picture cannot be read, or the result cannot be written.
            OSError: If the disk is full.
        """
        ...
