"""The error of films, and faults of FFmpeg in words."""

from __future__ import annotations

from pathlib import Path

from app.errors import StyleForgeError
from utils.pyav import av
from utils.text import printable

# What reading and writing films raises: PyAV's errors, among them OSErrors of FFmpeg, and those of
# the system.
FAULTS = (av.error.FFmpegError, OSError, ValueError)


class FilmError(StyleForgeError):
    """A film cannot be read, or not be written."""


def named(path: Path) -> str:
    """The name of a file in quotes, printable."""
    return f"'{printable(path.name)}'"


def unmade(target: Path, source: Path, fault: str) -> FilmError:
    """The error that a film cannot be made of another one; `fault` is a clause."""
    return FilmError(f"{named(target)} cannot be made of {named(source)}: {fault}")


def reason(exc: Exception) -> str:
    """What went wrong, without the path that PyAV adds."""
    text = getattr(exc, "strerror", None) or str(exc)
    return printable(text[:1].lower() + text[1:] if text else type(exc).__name__)
