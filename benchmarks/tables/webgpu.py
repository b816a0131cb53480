"""Formats the times of the network by WebGPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import milliseconds

GROUPS = "encoder", "residual blocks", "decoder"
NAMES = {"weights": "full"}  # by the file of a network


def webgpu_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each network, size and precision: medians in ms, and the error."""
    header = (
        *("network", "size", "precision", "3x3", "GPU ms", *GROUPS),
        *("ms from bytes to bytes", "PSNR", "levels off"),
    )
    return [header, *(_cells(row) for row in rows if "unsupported" not in row)]


def _name(network: str) -> str:
    return NAMES.get(network, network)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    groups = row.get("groups", {})
    return (
        _name(row["network"]),
        row["size"],
        row["precision"].upper(),
        "F(4x4)" if row["winograd"] else "direct",
        milliseconds(row["gpu"]["all"]["median"]) if "gpu" in row else "-",
        *(milliseconds(groups[name]["median"]) if groups else "-" for name in GROUPS),
        milliseconds(row["wall"]["median"]),
        f"{row['psnr']:.1f}",
        f"{row['worst']:.0f}",
    )
