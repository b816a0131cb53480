"""Interfaces that turn frames into a file, shared by films, animations and their parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from app.export.film.info import StyledFilmFrame
from app.export.film.store import SegmentStore


class PartWriter(Protocol):
    """A writer of one part of a film, whose file is complete once `close` returns. For one thread.

    Attributes:
        path: The file.
        start: Time of the first frame, in the film's time base.
        times: Time of each frame relative to `start`, in decode order.
        duration: Duration of the last frame.
    """

    path: Path
    start: int
    times: list[int]
    duration: int

    def write(self, frame: Any, pts: int, duration: int) -> None:
        """Write a frame that the output has encoded.

        Args:
            frame: Result of `Output.coded`.
            pts: Its time in the film's time base; later than the previous frame's.
            duration: Its duration in the film's time base.

        Raises:
            FilmError: If it cannot be written.
        """
        ...

    def close(self) -> None:
        """Complete the file. Raises FilmError if it cannot be written, or a frame was lost."""
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
        """Write the result atomically.

        Args:
            store: At least one part.
            target: The file to write or replace.

        Returns:
            The losses compared with the source, one clause each.

        Raises:
            FilmError: If the result cannot be written; the parts stay.
        """
        ...
