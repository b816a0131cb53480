"""How frames become a file: what a film, an animation and their parts have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from app.export.film.info import StyledFilmFrame
from app.export.film.store import SegmentStore


class PartWriter(Protocol):
    """A part of a film that is being written, as app.export.film.segment.SegmentWriter is."""

    path: Path
    start: int
    times: list[int]
    duration: int

    def write(self, frame: Any, pts: int, duration: int) -> None:
        """Write a frame that the output has coded."""
        ...

    def close(self) -> None:
        """Complete the file."""
        ...

    def discard(self) -> None:
        """Give the file up."""
        ...


class Output(Protocol):
    """How frames become a file, as app.export.film.assembly.FilmOutput makes films. Its methods may
    be called from any thread, and it is sent to other processes, which make parts."""

    def coded(self, frame: StyledFilmFrame) -> Any:
        """Make of a frame what its parts are given."""
        ...

    def part(self, path: Path) -> PartWriter:
        """Begin a part."""
        ...

    def assemble(self, store: SegmentStore, target: Path) -> tuple[str, ...]:
        """Put all parts together, and return what cannot be kept, one clause each."""
        ...
