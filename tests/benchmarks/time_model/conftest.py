"""A report made without a GPU: the model's times from known constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.time_model.measure import CASES, Case
from kernels.time_model.cards import find
from kernels.time_model.prediction import Calibration, Constants, calibration, predict

CONSTANTS = {
    "sm80": Constants(2.0, 900.0, 0.8, 300.0, 0.2, 0.9),
    "sm80-small": Constants(3.0, 2000.0, 0.4, 150.0, 0.3, 0.9),
    "sm90": Constants(4.0, 0.0, 0.2, 80.0, 0.0, 0.9),
}
MakeReport = Callable[..., dict[str, Any]]


@pytest.fixture
def told() -> Calibration:
    return replace(calibration(), constants=CONSTANTS)


@pytest.fixture
def make_report(told: Calibration) -> MakeReport:
    """Return a function that makes a report of an H200.

    `held_out` is a factor on the times with fewer multiprocessors.
    """

    def make(held_out: float = 1.0) -> dict[str, Any]:
        return {
            "taken": "2026-01-02",
            "machine": {"gpu": "NVIDIA H200", "driver": "580.1"},
            "versions": {"torch": "2.11.0", "python": "3.12.3"},
            "commit": "0123456789ab",
            "model": [
                _row(told, case, count, size, held_out if count < 132 else 1.0)
                for case in CASES
                for count in (132, 28)
                for size in ((512, 512), (1280, 720))
            ],
        }

    return make


def _row(
    told: Calibration, case: Case, count: int, size: tuple[int, int], factor: float
) -> dict[str, Any]:
    card = find("H200").part(count, case.shared_kb)
    made = predict(card, *size, case.network, backend=case.backend, told=told)
    return {
        "network": case.network,
        "backend": case.backend,
        "multiprocessors": count,
        "shared_kb": case.shared_kb,
        "width": size[0],
        "height": size[1],
        "ms": factor * made.ms,
        "predicted_ms": 1.0,
        "layers_ms": {name: factor * ms for name, ms in made.layers_ms.items()},
        "predicted_layers_ms": {},
        "all": count == 132,
    }
