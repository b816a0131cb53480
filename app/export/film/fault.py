"""The error of films, and faults of FFmpeg in words."""

from __future__ import annotations

from pathlib import Path

from app.errors import StyleForgeError
from app.film_frames.decoding import FAULTS, reason
from utils.text import printable
from utils.translation.texts import tr

__all__ = ["FAULTS", "FilmError", "named", "reason", "unmade"]


class FilmError(StyleForgeError):
    """A film cannot be read, or not be written."""


def named(path: Path) -> str:
    """The name of a file in quotes, printable."""
    return f"'{printable(path.name)}'"


def unmade(target: Path, source: Path, fault: str) -> FilmError:
    """The error that a film cannot be made of another one; `fault` is a clause."""
    return FilmError(
        tr(
            "{file} cannot be made of {source}: {fault}",
            file=named(target),
            source=named(source),
            fault=fault,
        )
    )
