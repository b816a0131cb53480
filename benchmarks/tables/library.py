"""Formats stored measurements of kernel_fusion's operations and conversions as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import scientific, times

DIRECTIONS = ("forward", "backward", "both", "step")
WAYS = ("ours", "eager", "fused", "compiled")
HEADER = (
    *("operation", "tensor", "precision", "pass", "ours, ms", "p20-p80", "eager, ms"),
    *("fused, ms", "compiled, ms", "vs eager", "vs fused", "vs compiled"),
    *("% of copy", "error", "eager's error", "MB saved"),
)


def library_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format stored measurements, a line per row and pass; gains below 1 are shown too."""
    return [HEADER, *(line for row in rows for line in _lines(row))]


def conversion_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the times of converted models, by tests.kernel_fusion.auto_convert.measure.

    Per model and batch: the time of each way, the ratios of eager mode and the compiler's modes to
    the converted model, and the distance of the results from FP64's.
    """
    ours, eager = "converted", "eager"
    modes = [way for way in rows[0]["ms"] if way not in (ours, eager)]
    header = (
        *("model, batch", "execution"),
        *(f"{way}, ms" for way in (ours, eager, *modes)),
        *(f"vs {way}" for way in (eager, *modes)),
        *("difference", "error", "eager's error"),
    )
    lines: list[tuple[str, ...]] = []
    for row in rows:
        ms, error = row["ms"], row["error"]
        lines.append(
            (
                *(row["case"], row["execution"]),
                *(_ms(ms[way]) for way in (ours, eager, *modes)),
                *(times(ms[way] / ms[ours]) for way in (eager, *modes)),
                *map(scientific, (row["difference"], error[ours], error[eager])),
            )
        )
    return [header, *lines]


def _lines(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for direction in DIRECTIONS:
        found = row.get(direction)
        if found is None:
            continue
        ours, *others = (found["ms"].get(way) for way in WAYS)
        medians = [None if each is None else each["median"] for each in others]
        memory = found.get("memory_mb")
        saved = "-"
        if memory is not None:
            saved = f"{memory['eager'] - memory['ours']:.0f} of {memory['eager']:.0f}"
        lines.append(
            (
                *(row["operation"], row["shape"], row["precision"], direction),
                _ms(ours["median"]),
                f"{_ms(ours['p20'])}-{_ms(ours['p80'])}",
                *(map(_ms, medians)),
                *(times(each and each / ours["median"]) for each in medians),
                f"{found['of_copy']:.0f}",
                *(scientific(found["error"].get(way)) for way in WAYS[:2]),
                saved,
            )
        )
    return lines


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
