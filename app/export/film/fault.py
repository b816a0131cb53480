"""The error of films, and descriptions of FFmpeg's faults."""

from __future__ import annotations

from pathlib import Path

from app.errors import StyleForgeError
from app.film_frames.decoding import FAULTS, reason
from utils.text import printable
from utils.translation.texts import tr

__all__ = ["FAULTS", "FilmError", "named", "reason", "unmade"]


class FilmError(StyleForgeError):
    """Raised if a film cannot be read or written."""


def named(path: Path) -> str:
    """Return a file's printable name in quotes."""
    return f"'{printable(path.name)}'"


def unmade(target: Path, source: Path, fault: str) -> FilmError:
    """Build the error that a film cannot be made from another one; `fault` is a clause."""
    return FilmError(
        tr(
            "cannot make {file} from {source}: {fault}",
            file=named(target),
            source=named(source),
            fault=fault,
        )
    )
