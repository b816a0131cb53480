"""Formats the times of the any-style painter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import figure, milliseconds, times, without_empty_columns


def any_style_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the times of `benchmarks.any_style`.

    The fastest of PyTorch's layouts counts; a failed run has no figure, an empty column goes.
    """
    ways = ("plan", "plan, PyTorch's ends", "eager", "eager in a graph", "compiled in a graph")
    header = (
        *("network", "frames", "precision", *(f"{way}, ms" for way in ways)),
        *("vs eager", "vs compiled", "error", "equal bits"),
    )
    lines: list[tuple[str, ...]] = []
    for row in rows:
        found = [_fastest(row["ms"], way) for way in ways]
        plan, _, eager, _, compiled = found
        gains = [None if not (ms and plan) else ms / plan for ms in (eager, compiled)]
        bits = row.get("bit-equal", {}).get("plan")
        lines.append(
            (
                *(row[name] for name in ("variant", "size", "precision")),
                *map(milliseconds, found),
                *map(times, gains),
                figure(row.get("error", {}).get("plan")),
                "-" if bits is None else "yes" if bits else "no",
            )
        )
    return without_empty_columns((header, *lines))


def _fastest(ms: Mapping[str, float | None], way: str) -> float | None:
    found = (ms.get(name) for name in (way, f"{way}, channels last"))
    return min((each for each in found if each is not None), default=None)
