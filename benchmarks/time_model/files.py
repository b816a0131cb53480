"""Reads, refits and writes the calibration and the stored measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.storing import store
from benchmarks.time_model.fit import Measured, fit, predicted
from kernels.time_model import prediction
from kernels.time_model.cards import find
from kernels.time_model.prediction import Calibration, to_json

REPORT = Path(__file__).parents[1] / "reports" / "model.json"


def write_described(described: Mapping[str, Any], path: Path = prediction.FILE) -> None:
    """Replace the kernels of the calibration, and preserve its constants."""
    stored = json.loads(path.read_text("utf-8"))
    store(path, {**stored, "description": described})


def measured(report: Mapping[str, Any]) -> list[tuple[dict[str, Any], Measured]]:
    """Return the rows of a report, each with its form for the fit.

    Raises:
        ValueError: If the table lacks the card.
    """
    card = find(report["machine"]["gpu"])
    return [
        (
            row,
            Measured(
                card.part(row["multiprocessors"], row["shared_kb"]),
                *(row["network"], row["backend"], row["width"], row["height"], row["ms"]),
                row["layers_ms"],
            ),
        )
        for row in report["model"]
    ]


def refit(path: Path, calibration: Path = prediction.FILE) -> Calibration:
    """Fit the constants to a report, and write both: the constants, and their predictions.

    The fit uses the rows of all multiprocessors; the others check the model for fewer.

    Args:
        path: The report.

    Raises:
        ValueError: If the table lacks the card of the report.
    """
    report = json.loads(path.read_text("utf-8"))
    stored = json.loads(calibration.read_text("utf-8"))
    rows = measured(report)
    told = Calibration.of(stored)
    constants = fit([one for row, one in rows if row["all"]], told)
    told = replace(told, constants=constants, source=source_of(report))
    for row, one in rows:
        expected = predicted(one, told)
        row |= {"predicted_ms": expected.ms, "predicted_layers_ms": dict(expected.layers_ms)}
    store(calibration, {**stored, "source": told.source, "constants": to_json(constants)})
    store(path, report)
    return told


def source_of(report: Mapping[str, Any]) -> str:
    """Describe the measurement behind a report."""
    machine, versions = report["machine"], report["versions"]
    return (
        f"times of both networks and of their layers in FP16 on one {machine['gpu']} "
        f"(driver {machine['driver']}, PyTorch {versions['torch']}, {report['taken']}, "
        f"commit {report['commit']})"
    )
