"""Formats the times of `styleforge bench`: a network alone, and whole frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import milliseconds, times, without_empty_columns

COLUMNS = (
    "kernels",
    "precision",
    "median ms",
    "p20-p80",
    "vs baseline",
    "vs PyTorch",
    "vs FP32",
    "% of floor",
    "difference",
    "PSNR",
    "peak MB",
)


def table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    lines = [_cells(row) for row in rows if not row.get("not_run")]
    return without_empty_columns((COLUMNS, *lines))


def notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{row['title']}, {row['precision']}: {row['not_run']}"
        for row in rows
        if row.get("not_run")
    ]


def frames_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the times of whole frames, pipelined and one by one, of `bench --frames`."""
    header = (
        "frames", "precision", "a second, overlapped", "ms between two", "p20-p80", "p95",
        "ms for one alone", "p20-p80", "p95", "on the GPU, ms between two", "with texture", "more",
        "with directed strokes", "more",
    )  # fmt: skip
    lines = [
        (
            f"{row['width']}x{row['height']}",
            row["precision"],
            f"{row['fps']:.0f}",
            *_spread(row["interval"]),
            *_spread(row["latency"]),
            *_with_texture(row.get("texture")),
            *_with_strokes(row.get("texture")),
        )
        for row in rows
    ]
    return without_empty_columns((header, *lines))


def steps_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the times of the steps beside the network, each alone, of `bench --frames`."""
    header = "step, alone on the GPU", "frames", "microseconds", "p20-p80", "p95"
    lines = [
        (
            row["step"],
            f"{row['width']}x{row['height']}",
            f"{1e3 * row['median_ms']:.0f}",
            f"{1e3 * row['p20_ms']:.0f}-{1e3 * row['p80_ms']:.0f}",
            f"{1e3 * row['p95_ms']:.0f}",
        )
        for row in rows
    ]
    return [header, *lines]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row; reports of older versions lack some columns."""
    floor = row.get("floor_ms")
    return (
        row["title"],
        row["precision"],
        milliseconds(row["median_ms"]),
        f"{milliseconds(row['p20_ms'])}-{milliseconds(row['p80_ms'])}",
        times(row["kernels_gain"]),
        times(row.get("pytorch_gain")),
        times(row["precision_gain"]),
        "-" if floor is None else f"{100 * floor / row['median_ms']:.0f} %",
        f"{row['difference']:.2g}",
        "-" if row["psnr"] is None else f"{row['psnr']:.0f}",
        "-" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}",
    )


def _spread(found: Mapping[str, float]) -> tuple[str, str, str]:
    median, p20, p80, p95 = (
        milliseconds(found[f"{n}_ms"]) for n in ("median", "p20", "p80", "p95")
    )
    return median, f"{p20}-{p80}", p95


def _with_texture(found: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if found is None:
        return "-", "-", "-"
    off, on = (found[name]["median_ms"] for name in ("off", "on"))
    return f"{off:.3g}", f"{on:.3g}", f"{on / off - 1:+.1%}"


def _with_strokes(found: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the time with the slowest direction of strokes; older reports have none."""
    if found is None or not (directed := [name for name in found if name not in ("off", "on")]):
        return "-", "-"
    slowest = max(found[name]["median_ms"] for name in directed)
    return f"{slowest:.3g}", f"{slowest / found['off']['median_ms'] - 1:+.1%}"
