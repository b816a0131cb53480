"""Measures the live pipeline with the real window: age, responsiveness, memory, switching, startup.

`python -m benchmarks.live FILE` stores the results as JSON. Without a display, the window is
rendered offscreen.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.provenance import report_header
from app.styles.library import Library
from benchmarks.live.gallery import Gallery, gallery
from benchmarks.live.speeds import engine_fps, start
from benchmarks.live.streams import (
    Automatic,
    Growth,
    Streaming,
    automatic,
    growth,
    streaming,
    switching,
)
from kernels.ops.registry import STYLE, prepare
from utils.devices import resolve
from utils.files.atomic import atomic_write
from utils.system import has_display


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything and store it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live")
    parser.add_argument("file", type=Path, help="store the figures here, as JSON")
    path: Path = parser.parse_args(argv).file
    if not has_display():
        sys.stderr.write("There is no display; the window is painted into memory instead\n")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"  # also inherited by child processes
    prepare(family=STYLE)
    report = {
        **report_header(resolve("auto"), Library.default().styles),
        "live": measure(lambda text: sys.stderr.write(f"{text}\n")),
    }
    atomic_write(path, (json.dumps(report, indent=2) + "\n").encode())
    return 0


def measure(say: Callable[[str], object]) -> dict[str, object]:
    """Run every measurement; return JSON-serializable values."""
    _application = QApplication.instance() or QApplication([])
    results: dict[str, object] = {}
    for name, work in (
        ("start_seconds", start),
        ("slow_engine", streaming),
        ("gallery", gallery),
        ("growth", growth),
        ("switching_frames", switching),
        ("automatic_size", automatic),
        ("engine_fps", engine_fps),
    ):
        say(f"measuring {name.replace('_', ' ')}")
        value = work()
        results[name] = (
            asdict(value) if isinstance(value, Streaming | Gallery | Growth | Automatic) else value
        )
    return results


if __name__ == "__main__":
    sys.exit(main())
