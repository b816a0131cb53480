"""Measures the live pipeline with the real window: age, responsiveness, memory, switching, startup.

`python -m app.ui.live_benchmark FILE` stores the results as JSON. Without a display, the window is
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
from app.styles.catalog import Catalog
from app.ui.live_benchmark.gallery import Gallery, gallery
from app.ui.live_benchmark.speeds import engine_fps, start
from app.ui.live_benchmark.streams import (
    Automatic,
    Growth,
    Streaming,
    automatic,
    growth,
    streaming,
    switching,
)
from kernels.table.registry import STYLE, prepare
from utils.devices import resolve
from utils.files.atomic import atomic_write
from utils.system import has_display


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything and store it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m app.ui.live_benchmark")
    parser.add_argument("file", type=Path, help="store the figures here, as JSON")
    path: Path = parser.parse_args(argv).file
    if not has_display():
        sys.stderr.write("There is no display; the window is painted into memory instead\n")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"  # also inherited by child processes
    prepare(family=STYLE)
    report = {
        **report_header(resolve("auto"), Catalog.default().styles),
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
