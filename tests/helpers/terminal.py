"""Runs the program on a terminal of its own, and reads what it shows there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIECE = 4096  # bytes that are read at once

needs_posix = pytest.mark.skipif(os.name == "nt", reason="opens a terminal as on POSIX")


def shown_on_a_terminal(
    *words: object, settings: Mapping[str, str] | None = None, columns: int = 120
) -> bytes:
    """Run `styleforge` to its end, which must be a good one.

    Args:
        words: Of the command line.
        settings: Variables of the environment; of the tests' own, those of colors are left out.
        columns: How wide the terminal is.

    Returns:
        All bytes that the terminal received, stdout and stderr.
    """
    import pty

    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    terminal = {"TERM": "xterm-256color", "COLUMNS": str(columns)}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "app", *map(str, words)],
        cwd=ROOT,
        env=plain | terminal | dict(settings or {}),
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, PIECE):
                shown += piece
        except OSError:  # how Linux says that the other end was closed
            pass
        os.close(ours)
    assert process.returncode == 0, shown
    return shown


def has_colors(shown: bytes) -> bool:
    """Whether a terminal was told a color, such as those of a bar."""
    return b"\x1b[38;5;" in shown or b"\x1b[32m" in shown
