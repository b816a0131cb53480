"""Has a process of its own make a report, since its checks take seconds and may crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import app
from app.errors import StyleForgeError

ROOT = Path(app.__file__).resolve().parents[app.__name__.count(".") + 1]
TIMEOUT_S = 180.0


class ReportError(StyleForgeError):
    """A report cannot be made."""


def make_report() -> str:
    """Run `styleforge doctor --report`, which takes seconds, and return what it prints.

    Raises:
        ReportError: It does not end, or without a report.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", app.__name__, "doctor", "--report", "--no-build"],
            cwd=ROOT,
            env={**os.environ, "PYTHONUTF8": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # no console on Windows
        )
    except subprocess.TimeoutExpired as exc:
        raise ReportError(f"`styleforge doctor` took over {TIMEOUT_S:.0f} s") from exc
    if not done.stdout.startswith("StyleForge"):
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with {done.returncode}"]
        raise ReportError(f"`styleforge doctor` failed: {last[0]}")
    return done.stdout
