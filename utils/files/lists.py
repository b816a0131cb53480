"""Reads lists that people write: a text file, one entry a line."""

from __future__ import annotations

from pathlib import Path

from utils.files.regular import read_regular
from utils.text import printable

MOST = 64 << 20  # bytes: a million long paths


def entries(path: Path) -> list[str]:
    """The lines of the UTF-8 file `path`, without blank ones and comments (#). ValueError, with a
    sentence that names the file, if it cannot be read or is not text."""
    try:
        lines = [line.strip() for line in read_regular(path, MOST).decode("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text"
        raise ValueError(f"the list '{printable(str(path))}' cannot be read: {reason}") from exc
    return [line for line in lines if line and not line.startswith("#")]
