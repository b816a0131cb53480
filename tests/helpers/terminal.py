"""Runs the program on its own terminal and captures the output."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIECE = 4096  # bytes per read

needs_posix = pytest.mark.skipif(os.name == "nt", reason="opens a terminal as on POSIX")


def shown_on_a_terminal(
    *words: object, settings: Mapping[str, str] | None = None, columns: int = 120
) -> bytes:
    """Run `styleforge` on a terminal of `columns`, check that it succeeds, and return its output.

    `settings` are environment variables on top of the test's own, without the color variables. The
    output has all bytes that the terminal received, from stdout and stderr.
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
        except OSError:  # Linux raises this when the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0, shown
    return shown


def has_colors(shown: bytes) -> bool:
    """Return whether the output sets a color, for example for a progress bar."""
    return b"\x1b[38;5;" in shown or b"\x1b[32m" in shown
