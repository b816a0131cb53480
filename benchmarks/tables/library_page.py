"""Summarizes stored measurements of kernel_fusion's operations in one table per group.

A row per operation shows the times of the last size measured, in FP32 on a CPU and in FP16 on a
GPU. Ratios carry their range over all sizes and precisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from statistics import median
from typing import Any

from benchmarks.tables.cells import markdown_table, milliseconds, without_empty_columns
from benchmarks.tables.library import DIRECTIONS
from benchmarks.tables.origin import where

Row = Mapping[str, Any]
Table = list[tuple[str, ...]]

OPTIM = "Optimizers"
TITLES: dict[str, str] = {
    "elementwise": "Elementwise",
    "fusion": "Norms",
    "reduction": "Reductions",
    "conv": "Convolutions",
    "linear": "Linear layers",
    "attention": "Attention",
    "loss": "Losses",
    "optim": OPTIM,
    **dict.fromkeys(("text", "vision", "series"), "Inputs"),
}
PASSES = (("forward", "step"), ("backward",), ("both",))
LESS = 0.995  # ratios below it are shown as less than 1.00


def library_summary(report: Row, compiled: Row | None = None) -> str:
    """Format a report of operations with one table per group, for a page.

    `compiled` is a report with the compiler's times, if `report` has none.
    """
    parts = [f"{where(report)}.{cut(report)} {slower(report)}"]
    if compiled is not None:
        parts.append(f"Compiler: {where(compiled)}.{cut(compiled)} {slower(compiled)}")
    for title, lines in group_tables(report, compiled):
        parts += [f"**{title}**", markdown_table(lines)]
    parts += ["**Errors**", markdown_table(error_table(report)), *not_finite(report)]
    return "\n\n".join(parts) + "\n"


def cut(report: Row) -> str:
    """Return a sentence on a run that was cut; "" for a whole one."""
    return f" The run was cut: {report['incomplete']}." if "incomplete" in report else ""


def group_tables(report: Row, compiled: Row | None = None) -> list[tuple[str, Table]]:
    """Return a title and a table for each group of operations.

    Args:
        report: A report of `python -m kernel_fusion bench`.
        compiled: A second report of the same machine, which has the times of the compiler.
    """
    groups: dict[str, dict[str, list[Row]]] = {title: {} for title in TITLES.values()}
    for row in report["library"]:
        name: str = row["group"]
        group = groups.setdefault(TITLES.get(name, name), {})
        group.setdefault(row["operation"], []).append(row)
    precision = "FP16" if report["machine"]["gpu"] else "FP32"
    others = None if compiled is None else compiled["library"]
    return [
        (title, _table(title, group, precision, others)) for title, group in groups.items() if group
    ]


def slower(report: Row) -> str:
    """Return a sentence on the passes in which another way is faster than ours."""
    parts: list[str] = []
    for way in ("eager", "fused", "compiled"):
        ratios = [ratio for *_, found in _passes(report) if (ratio := _ratio(found, way))]
        if ratios:
            name = {"eager": "eager mode", "fused": "`fused=True`", "compiled": "the compiler"}[way]
            count = sum(ratio < LESS for ratio in ratios)
            parts.append(f"{name} in {count} of {len(ratios)} passes")
    return f"Ours is slower than {', than '.join(parts)}."


def error_table(report: Row) -> Table:
    """Count the passes of each precision and summarize their errors, ours beside eager's.

    Medians and maxima use only the passes in which both errors are finite.
    """
    header = (
        *("precision", "passes", "median error", "eager's", "largest error", "eager's"),
        *("not finite", "eager's"),
    )
    errors: dict[str, list[Mapping[str, float]]] = {}
    for row, _, found in _passes(report):
        errors.setdefault(row["precision"], []).append(found["error"])
    lines: Table = [header]
    for precision, each in errors.items():
        both = [
            (x["ours"], x["eager"])
            for x in each
            if "eager" in x and isfinite(x["ours"]) and isfinite(x["eager"])
        ]
        ways = [*zip(*both, strict=True)]
        counts = [sum(not isfinite(x.get(way, 0.0)) for x in each) for way in ("ours", "eager")]
        found = [f"{of(way):.1e}" for of in (median, max) for way in ways] or ["-"] * 4
        lines.append((precision, str(len(each)), *found, *map(str, counts)))
    return lines


def not_finite(report: Row) -> list[str]:
    """Return a sentence per way and precision that counts the passes without a finite error."""
    sentences: list[str] = []
    for way, whose in (("ours", "ours"), ("eager", "eager mode")):
        names: dict[tuple[str, str], dict[str, int]] = {}
        for row, direction, found in _passes(report):
            if not isfinite(found["error"].get(way, 0.0)):
                counts = names.setdefault((row["precision"], direction), {})
                counts[row["operation"]] = counts.get(row["operation"], 0) + 1
        for (precision, direction), counts in names.items():
            listed = ", ".join(f"`{name}` ({count})" for name, count in counts.items())
            sentences.append(f"No finite error, {precision} {direction}, {whose}: {listed}.")
    return sentences


def _passes(report: Row) -> Iterator[tuple[Row, str, Row]]:
    for row in report["library"]:
        for direction in DIRECTIONS:
            if direction in row:
                yield row, direction, row[direction]


def _table(
    title: str, group: Mapping[str, Sequence[Row]], precision: str, compiled: Iterable[Row] | None
) -> Table:
    best = "fused" if title == OPTIM else "compiled"
    first = "step" if title == OPTIM else "forward"
    noted = "" if compiled is None or title == OPTIM else ", FP32"
    header = ["operation", "tensor"]
    for name in (first, "backward", "both"):
        header += [f"{name}: ours, ms", "eager, ms", "vs eager", f"vs {best}{noted}"]
    lines = [tuple(header)]
    for name, rows in group.items():
        shown = _last(rows, precision)
        of_best = rows
        if compiled is not None and title != OPTIM:
            of_best = [row for row in compiled if row["operation"] == name]
        line = [name, shown["shape"]]
        for directions in PASSES:
            line += _cells(shown, rows, of_best, directions, best)
        lines.append(tuple(line))
    return without_empty_columns(lines)


def _cells(
    shown: Row, rows: Sequence[Row], of_best: Sequence[Row], directions: Sequence[str], best: str
) -> list[str]:
    direction = next((name for name in directions if name in shown), None)
    if direction is None:
        return ["-"] * 4
    ours, eager = (milliseconds(shown[direction]["ms"][way]["median"]) for way in ("ours", "eager"))
    against: Row = _last(of_best, shown["precision"], shown["shape"]) if of_best else {}
    return [
        ours,
        eager,
        _with_range(shown, rows, direction, "eager"),
        _with_range(against, of_best, direction, best),
    ]


def _last(rows: Sequence[Row], precision: str, shape: str | None = None) -> Row:
    """Return the last row of a precision and a shape; otherwise the last row of the shape."""
    alike = [row for row in rows if shape in (None, row["shape"])] or rows
    return next((row for row in reversed(alike) if row["precision"] == precision), alike[-1])


def _with_range(shown: Row, rows: Iterable[Row], direction: str, way: str) -> str:
    ratio = _ratio(shown.get(direction, {}), way)
    if ratio is None:
        return "-"
    found = [each for row in rows if (each := _ratio(row.get(direction, {}), way)) is not None]
    lowest, highest = (f"{bound:.2f}" for bound in (min(found), max(found)))
    return f"{ratio:.2f}x" + (f" ({lowest}-{highest})" if lowest != highest else "")


def _ratio(found: Row, way: str) -> float | None:
    """Return the time of another way divided by ours; None if that way was not measured."""
    times = found.get("ms", {})
    return times[way]["median"] / times["ours"]["median"] if way in times else None
