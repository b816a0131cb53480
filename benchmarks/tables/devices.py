"""Formats the gains of several devices over one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def devices_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the gains of several devices over one, by benchmarks.devices."""
    header = (
        *("what", "size", "precision", "kernels", "one, a second", "all, a second"),
        *("gain", "what limits one", "what limits all"),
    )
    lines = [
        (
            f"{row['count']} {'pictures' if row['of'] == 'pictures' else 'frames of a film'}",
            "x".join(map(str, row["size"])),
            *(row["precision"], row["kernels"]),
            *(f"{run['per_second']:.0f}" for run in row["runs"]),
            f"{row['gain']:.2f}x",
            *(run.get("limit") or "-" for run in row["runs"]),
        )
        for row in rows
    ]
    return [header, *lines]
