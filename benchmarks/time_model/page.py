"""Writes the tables of docs/reference/cards.md: the models' predictions, and their checks.

Tests compare the page with the output for the calibrations and for the reports model.json and
webgpu.json of benchmarks/reports.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.tables.cells import markdown_table
from benchmarks.tables.origin import where
from benchmarks.time_model import webgpu
from benchmarks.time_model.files import REPORT
from kernels.network.shapes import WITH_KERNELS
from kernels.time_model.cards import Card, cards
from kernels.time_model.prediction import Calibration, backend_for, predict
from kernels.time_model.webgpu import calibration
from utils.files.atomic import atomic_write

SIZES = ((512, 512), (1280, 720), (1920, 1080))
BLOCK = re.compile(
    r"(<!-- (predictions|check|webgpu predictions|webgpu check) -->\n).*?(<!-- end -->)", re.DOTALL
)


def refreshed(text: str, told: Calibration, report: Mapping[str, Any] | None) -> str:
    """Fill the blocks of the page.

    Args:
        told: The constants of the CUDA cards' model. WebGPU's model has the stored ones.
        report: The stored check; without one, its block is left empty.
    """
    blocks = {
        "predictions": predictions(told),
        "check": check(report) if report is not None else "",
        "webgpu predictions": webgpu.predictions(calibration()),
        "webgpu check": webgpu.check(webgpu.stored_report(), calibration()),
    }
    return BLOCK.sub(lambda match: f"{match[1]}{blocks[match[2]]}{match[3]}", text)


def write(path: Path, told: Calibration) -> None:
    """Fill the blocks of a page's file."""
    text = refreshed(path.read_text("utf-8"), told, stored_report())
    atomic_write(path, text.encode())


def stored_report(path: Path = REPORT) -> dict[str, Any] | None:
    """Return the stored check, or None."""
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def predictions(told: Calibration) -> str:
    """Return a table of the cards with the predicted pictures per second of each network."""
    header = ("card", "capability", "multiprocessors")
    for network in WITH_KERNELS:
        header += (network, *(f"predicted at {width}x{height}" for width, height in SIZES))
    lines = [_line(card, told) for card in cards()]
    return f"Constants fitted to {told.source}.\n\n{markdown_table([header, *lines], left=1)}\n"


def check(report: Mapping[str, Any]) -> str:
    """Return a table of measured and predicted times, and their differences."""
    header = (
        *("network", "backend", "multiprocessors", "shared memory", "frames"),
        *("measured ms", "predicted ms", "difference", ""),
    )
    lines = [
        (
            row["network"],
            row["backend"],
            str(row["multiprocessors"]),
            f"{row['shared_kb']} KB" if row["shared_kb"] else "all",
            f"{row['width']}x{row['height']}",
            f"{row['ms']:.3f}",
            f"{row['predicted_ms']:.3f}",
            f"{100 * (row['predicted_ms'] / row['ms'] - 1):+.0f} %",
            "fitted" if row["all"] else "predicted",
        )
        for row in report["model"]
    ]
    said = [where(report)]
    for title, fitted in (("fitted", True), ("other", False)):
        apart = [_apart(row) for row in report["model"] if row["all"] is fitted]
        if apart:
            root = math.sqrt(math.fsum(x * x for x in apart) / len(apart))
            said.append(
                f"The largest difference from the {len(apart)} {title} times is "
                f"{100 * max(apart):.0f} %, and the root mean square is {100 * root:.0f} %."
            )
    return "\n\n".join([*said, markdown_table([header, *lines], left=1)]) + "\n"


def _apart(row: Mapping[str, Any]) -> float:
    return abs(row["predicted_ms"] / row["ms"] - 1)


def _line(card: Card, told: Calibration) -> tuple[str, ...]:
    line = (card.short_name, ".".join(map(str, card.capability)), str(card.multiprocessors))
    for network in WITH_KERNELS:
        backend, figures = "layer by layer", ("-",) * len(SIZES)
        with suppress(ValueError):  # no backend runs there, or one unknown to the model
            backend = backend_for(card, network, told)
            figures = tuple(f"{predict(card, *size, network, told=told).fps:.0f}" for size in SIZES)
        line += (backend, *figures)
    return line
