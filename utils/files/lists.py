"""Reads text files with one entry per line."""

from __future__ import annotations

from pathlib import Path

from utils.files.regular import read_regular
from utils.text import printable
from utils.translation.texts import tr

MAX_BYTES = 64 << 20  # bytes: a million long paths


def read_list_file(path: Path) -> list[str]:
    """Read the stripped lines of a UTF-8 file of at most MAX_BYTES, without blanks and # comments.

    Raises:
        ValueError: If the file cannot be read or is not text. The message names the file.
    """
    try:
        lines = [
            line.strip() for line in read_regular(path, MAX_BYTES).decode("utf-8").splitlines()
        ]
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else tr("it is not text")
        raise ValueError(
            tr("the list '{file}' cannot be read: {error}", file=printable(str(path)), error=reason)
        ) from exc
    return [line for line in lines if line and not line.startswith("#")]
