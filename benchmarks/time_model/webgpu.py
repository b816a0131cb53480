"""Fits the time model of WebGPU to a stored report, and formats its predictions.

`python -m benchmarks.time_model fit-webgpu` writes the constants of kernels/time_model/webgpu.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.storing import store
from benchmarks.tables.cells import markdown_table, milliseconds
from kernels.network.shapes import WITH_KERNELS
from kernels.time_model import webgpu
from kernels.time_model.webgpu import Calibration, Constants, predict, work
from kernels.time_model.webgpu_cards import GpuCard, card_of_adapter, gpu_cards

REPORT = Path(__file__).parents[1] / "reports" / "webgpu.json"
SIZES = ((512, 512), (1280, 720), (1920, 1080))
FITTED = {(512, 512), (1920, 1080)}  # the other sizes of a report check the model
NETWORKS = {"weights": "full", "lite": "lite"}  # by the file of a network

# In a measurement of single layers each has a pass of its own, which takes longer.
PASS = "pass_us"
FIRST_FACTOR, LAST_FACTOR = 2.0, 1.0005
ROUNDS = 5000
BOUNDS = {"dispatch_us": (0.1, 50.0), "bandwidth_share": (0.05, 0.95), PASS: (0.1, 50.0)}
EFFICIENCIES = 0.01, 1.0  # the bounds of each


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured times in ms of a network on the GPU, in all and by layer."""

    network: str
    width: int
    height: int
    half: bool
    ms: float
    layers_ms: Mapping[str, float]

    @property
    def fitted(self) -> bool:
        """Whether the fit takes it; otherwise it checks the fit."""
        return (self.width, self.height) in FITTED


def stored_report(path: Path = REPORT) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def measured(report: Mapping[str, Any]) -> list[Measured]:
    """Return the timed rows of a report with the default way of each layer."""
    rows = [row for row in report["webgpu"] if row.get("default") and "gpu" in row]
    return [_measured(row) for row in rows]


def card_of(report: Mapping[str, Any]) -> GpuCard:
    """Return the card of a report.

    Raises:
        ValueError: If the table lacks it.
    """
    name = report["adapter"]["name"]
    card = card_of_adapter(name)
    if card is None:
        raise ValueError(f"kernels/time_model/webgpu_cards.toml has no card for '{name}'")
    return card


def fit(report: Mapping[str, Any]) -> Calibration:
    """Fit the constants to the times of a report at two sizes.

    Raises:
        ValueError: If the table lacks the report's card, or the report a time to fit.
    """
    card, rows = card_of(report), [row for row in measured(report) if row.fitted]
    if {row.network for row in rows} != {*WITH_KERNELS}:
        raise ValueError("the report lacks times of a network at 512x512 and 1920x1080")
    start = {"dispatch_us": 10.0, "bandwidth_share": 0.7, PASS: 10.0}
    for network in WITH_KERNELS:
        kinds = {each.kind for each in work(network, *SIZES[0]).values()}
        start |= dict.fromkeys((f"{network}/{kind}" for kind in sorted(kinds)), 0.4)
    best, least, factor = start, _error(start, rows, card), FIRST_FACTOR
    for _ in range(ROUNDS):
        if factor < LAST_FACTOR:
            break
        before = least
        for name in start:
            low, high = BOUNDS.get(name, EFFICIENCIES)
            for step in (factor, 1 / factor):
                tried = {**best, name: min(high, max(low, best[name] * step))}
                if (found := _error(tried, rows, card)) < least:
                    best, least = tried, found
        if least >= before:
            factor = math.sqrt(factor)
    return Calibration(_source(report), _constants({n: round(v, 4) for n, v in best.items()}))


def refit(report: Path = REPORT, calibration: Path = webgpu.FILE) -> Calibration:
    """Fit the constants to a stored report, and write them."""
    told = fit(stored_report(report))
    store(calibration, told.stored())
    return told


def predictions(told: Calibration) -> str:
    """Return the tables of the cards' figures and of their predicted times, in FP16."""
    facts = [("GPU", "source", "FP32, TFLOPS", "memory, GB/s")]
    header = ("GPU",)
    for network in WITH_KERNELS:
        header += tuple(f"{network}, {width}x{height}" for width, height in SIZES)
    lines: list[tuple[str, ...]] = []
    for card in gpu_cards():
        figures = f"{card.fp32_tflops:g}", f"{card.bandwidth_gb_s:g}"
        facts.append((card.name, card.source, *figures))
        found = [predict(card, *size, name, told=told) for name in WITH_KERNELS for size in SIZES]
        lines.append((card.name, *(f"{_rate(each.fps)} ({_ms(each.ms)})" for each in found)))
    tables = markdown_table(facts), markdown_table([header, *lines], left=1)
    return "\n\n".join((f"Constants fitted to {told.source}.", *tables)) + "\n"


def check(report: Mapping[str, Any], told: Calibration) -> str:
    """Return the errors of the model for a report, and a table of its times."""
    card, rows = card_of(report), measured(report)
    header = ("network", "precision", "frames", "measured ms", "predicted ms", "difference", "")
    lines: list[tuple[str, ...]] = [header]
    apart: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        found = predict(card, row.width, row.height, row.network, half=row.half, told=told).ms
        apart[row.fitted].append(found / row.ms - 1)
        lines.append(
            (
                row.network,
                "FP16" if row.half else "FP32",
                f"{row.width}x{row.height}",
                *(f"{row.ms:.3f}", f"{found:.3f}", f"{100 * (found / row.ms - 1):+.0f} %"),
                "fitted" if row.fitted else "predicted",
            )
        )
    said = [
        f"The largest difference from the {len(errors)} {title} times is "
        f"{100 * max(map(abs, errors)):.0f} %."
        for title, errors in (("fitted", apart[True]), ("other", apart[False]))
        if errors
    ]
    return "\n\n".join([*said, markdown_table(lines, left=1)]) + "\n"


def _measured(row: Mapping[str, Any]) -> Measured:
    width, height = map(int, row["size"].split("x"))
    return Measured(
        *(NETWORKS[row["network"]], width, height, row["precision"] == "fp16"),
        row["gpu"]["all"]["median"],
        {name: times["median"] for name, times in row["layers"].items()},
    )


def _error(values: Mapping[str, float], rows: Sequence[Measured], card: GpuCard) -> float:
    """Return the mean square of log(predicted / measured); a network counts as all its layers."""
    told = Calibration("", _constants(values))
    total = 0.0
    for row in rows:
        found = predict(card, row.width, row.height, row.network, half=row.half, told=told)
        total += math.log(found.ms / row.ms) ** 2
        for name, ms in row.layers_ms.items():
            alone = found.layers_ms[name] + values[PASS] / 1e3
            total += math.log(alone / ms) ** 2 / len(row.layers_ms)
    return total / (2 * len(rows))


def _constants(values: Mapping[str, float]) -> Constants:
    """Return constants from their names in the search: "full/conv1" is an efficiency."""
    efficiencies: dict[str, dict[str, float]] = {name: {} for name in WITH_KERNELS}
    for name, value in values.items():
        network, _, kind = name.partition("/")
        if kind:
            efficiencies[network][kind] = value
    return Constants(values["dispatch_us"], values["bandwidth_share"], efficiencies)


def _source(report: Mapping[str, Any]) -> str:
    adapter = report["adapter"]
    return (
        f"the GPU's times of both networks and of their layers on one {adapter['name']} through "
        f"{adapter['backend']} (driver {adapter['driver']}, wgpu {report['versions']['wgpu']}, "
        f"{report['taken']}, commit {report['commit']})"
    )


def _rate(fps: float) -> str:
    return f"{fps:.0f}" if fps >= 10 else f"{fps:.1f}"


def _ms(ms: float) -> str:
    return f"{milliseconds(ms)} ms"
