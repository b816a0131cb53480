"""Report generation in a separate process, because its checks take seconds and may crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import app
from app.errors import StyleForgeError
from utils.translation.numbers import number
from utils.translation.texts import tr

ROOT = Path(app.__file__).resolve().parents[app.__name__.count(".") + 1]
TIMEOUT_S = 180.0


class ReportError(StyleForgeError):
    """Raised if the program cannot make a report."""


def make_report() -> str:
    """Run `styleforge doctor --report`, which takes seconds, and return its output.

    Raises:
        ReportError: If the process does not end, or ends without a report.
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
        raise ReportError(tr("`styleforge doctor` took over {n} s", n=number(TIMEOUT_S))) from exc
    if not done.stdout.startswith("StyleForge"):
        said = done.stderr.strip().splitlines()
        fault = said[-1] if said else tr("it ended with {status}", status=done.returncode)
        raise ReportError(tr("`styleforge doctor` failed: {error}", error=fault))
    return done.stdout
