"""Formats the times of the network by WebGPU, of moves, and of other runtimes on the same GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import (
    markdown_table,
    milliseconds,
    times,
    without_empty_columns,
)

GROUPS = "encoder", "residual blocks", "decoder"
NAMES = {"weights": "full"}  # by the file of a network


def webgpu_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each network, size and precision: medians in ms, and the error."""
    header = (
        *("network", "size", "precision", "3x3", "GPU ms", *GROUPS),
        *("ms from bytes to bytes", "ms in a stream", "PSNR", "levels off"),
    )
    lines = [_cells(row) for row in rows if "unsupported" not in row]
    return without_empty_columns([header, *lines])


def webgpu_tables(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield our table, and the tables of moves and other runtimes if the report has them."""
    yield markdown_table(webgpu_table(report["webgpu"]))
    if rows := report.get("moves"):
        yield "Moving the last painting of a fluid stream to a newer frame:"
        yield markdown_table(moves_table(rows), left=1)
    if rows := report.get("peers"):
        yield "Other runtimes, and ours again, alternately in one run:"
        yield markdown_table(peers_table(rows), left=4)
        yield from peers_notes(rows)


def moves_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each number of paintings that move at once: medians in ms."""
    header = "size", "paintings", "GPU ms", "ms from bytes to bytes"
    lines = [
        (
            *(row["size"], f"{row['paintings']}"),
            milliseconds(row["gpu"]["median"]) if "gpu" in row else "-",
            milliseconds(row["wall"]["median"]),
        )
        for row in rows
    ]
    return without_empty_columns([header, *lines])


def peers_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each way: its medians in ms, their ratio to ours, and the error.

    The first way of each network, size and precision is ours.
    """
    header = (
        *("network", "size", "precision", "way", "ms from bytes to bytes", "of them inside"),
        *("of our time", "PSNR", "levels off"),
    )
    ours: dict[tuple[str, ...], float] = {}
    lines: list[tuple[str, ...]] = []
    for row in rows:
        if "not_run" in row:
            continue
        wall = row["wall"]["median"]
        first = ours.setdefault((row["network"], row["size"], row["precision"]), wall)
        lines.append(
            (
                *(_name(row["network"]), row["size"], row["precision"].upper(), row["way"]),
                milliseconds(wall),
                milliseconds(row["inside"]["median"]) if "inside" in row else "-",
                times(wall / first),
                *(f"{row['psnr']:.1f}", f"{row['worst']:.0f}"),
            )
        )
    return without_empty_columns([header, *lines])


def peers_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each way and reason that it did not run."""
    told = (f"Not run: {row['way']}: {row['not_run']}." for row in rows if "not_run" in row)
    return list(dict.fromkeys(told))


def way_of(row: Mapping[str, Any]) -> str:
    """Return how the layers of a row's network are computed."""
    if row.get("enlarging_winograd"):
        return "F(4x4), also enlarging"
    return "F(4x4)" if row["winograd"] else "direct"


def _name(network: str) -> str:
    return NAMES.get(network, network)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    groups = row.get("groups", {})
    return (
        _name(row["network"]),
        row["size"],
        row["precision"].upper(),
        way_of(row),
        milliseconds(row["gpu"]["all"]["median"]) if "gpu" in row else "-",
        *(milliseconds(groups[name]["median"]) if groups else "-" for name in GROUPS),
        milliseconds(row["wall"]["median"]),
        milliseconds(row.get("in flight")),
        f"{row['psnr']:.1f}",
        f"{row['worst']:.0f}",
    )
