"""Interfaces that turn frames into a file, shared by films, animations and their parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from app.export.film.info import StyledFilmFrame
from app.export.film.store import SegmentStore


class PartWriter(Protocol):
    """A writer of one part of a film, whose file is complete once `close` returns. For one thread.

    Attributes:
        start: Time of the first frame, in the film's time base.
        times: Time of each frame relative to `start`, in decode order.
    """

    path: Path
    start: int
    times: list[int]
    duration: int

    def write(self, frame: Any, pts: int, duration: int) -> None:
        """Write a frame later than the previous one.

        Raises:
            FilmError: If the frame cannot be written.
        """
        ...

    def close(self) -> None:
        """Complete the file.

        Raises:
            FilmError: If the file cannot be written, or a frame was lost.
        """
        ...

    def discard(self) -> None:
        """Abandon the file."""
        ...


class Output(Protocol):
    """A kind of result, such as app.export.film.assembly.FilmOutput.

    Its methods are thread-safe. It must be picklable, because other processes make parts with it.
    """

    def coded(self, frame: StyledFilmFrame) -> Any:
        """Convert a frame to the input of the part writers."""
        ...

    def part(self, path: Path) -> PartWriter:
        """Begin a part."""
        ...

    def assemble(self, store: SegmentStore, target: Path) -> tuple[str, ...]:
        """Write the result atomically, from at least one part.

        Returns:
            The losses compared with the source, one clause each.

        Raises:
            FilmError: If the result cannot be written; the parts stay.
        """
        ...
