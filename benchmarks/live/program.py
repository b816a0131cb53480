"""Runs a benchmark of the window as a program that stores its report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication

from app.provenance import report_header
from app.styles.catalog import Catalog
from benchmarks.storing import store
from kernels.table.registry import prepare
from utils.devices import resolve
from utils.system import has_display

Say = Callable[[str], object]  # receives a line about the progress


def run(name: str, families: Sequence[str], measured: Callable[[Say], Mapping[str, Any]]) -> int:
    """Measure with a window, and store the report where the command line says.

    Without a display, the window is painted into memory.

    Args:
        name: The program's command.
        families: Families of operations whose kernels the program prepares.
        measured: Returns the entries of the report after the first ones, JSON-serializable.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("file", type=Path, help="store the figures here, as JSON")
    path: Path = parser.parse_args().file
    if not has_display():
        sys.stderr.write("There is no display; the window is painted into memory instead\n")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"  # also inherited by child processes
    for operations in families:
        prepare(family=operations)
    header = report_header(resolve("auto"), Catalog.default().styles)
    _application = QApplication.instance() or QApplication([])
    store(path, {**header, **measured(lambda text: sys.stderr.write(f"{text}\n"))})
    return 0
