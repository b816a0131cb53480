"""The server's contract with the engine: a protocol that the caller implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.errors import StyleForgeError
from app.server.look import Look
from app.styles.catalog import Catalog
from app.styles.pack import Style


class Stopped(StyleForgeError):
    """Raised if a picture was given up before it was done, since its client has left."""


@dataclass(frozen=True, slots=True)
class Painted:
    """The outcome for a picture.

    Attributes:
        ran: A description of the network and engine that ran: "Fused, FP32, CPU: no CUDA device".
        seconds: How long it took, with reading and writing.
        remark: What the result lacks of the picture; may be empty.
    """

    ran: str
    seconds: float
    remark: str = ""


class Painter(Protocol):
    """An engine that styles pictures, and makes styles from them.

    The server calls `paint`, `add_style` and `remove_style` on one thread.
    """

    @property
    def catalog(self) -> Catalog: ...

    @property
    def matted(self) -> bool:
        """Whether it can tell people from the background, for the options that need it."""
        ...

    @property
    def findings(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The report of `styleforge doctor` by topic, each line with "ok", "note" or "fault"."""
        ...

    def check(self, look: Look) -> None:
        """Raise StyleForgeError if pictures cannot be styled with a look."""
        ...

    def add_style(self, picture: Path, title: str, stop: Callable[[], bool]) -> Style:
        """Make a style from a picture for the user; a number is appended to a title that is taken.

        Raises:
            Stopped: If `stop`, see `paint`, gave it up; there is no new style.
            StyleError: If the picture cannot be used, or the style cannot be written.
        """
        ...

    def remove_style(self, key: str) -> None:
        """Remove one of the user's styles.

        Raises:
            StyleError: If the style does not exist or cannot be removed.
        """
        ...

    def paint(self, source: Path, target: Path, look: Look, stop: Callable[[], bool]) -> Painted:
        """Style a picture; `stop`, called now and then, returns whether to give up.

        Raises:
            Stopped: If it was given up.
            StyleForgeError: If the engine cannot do it.
            ImageError: If the picture cannot be read, or the result cannot be written.
            OSError: If the disk is full.
        """
        ...
