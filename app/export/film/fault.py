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


def reason(exc: Exception) -> str:
    """What went wrong, without the path that PyAV adds."""
    text = getattr(exc, "strerror", None) or str(exc)
    return printable(text[:1].lower() + text[1:] if text else type(exc).__name__)
