"""Formats the measurement of streams that move their last painting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.tables.cells import figure

WAYS = ("repeated", "blended", "moved")


def fluid_table(fluid: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the header, and a line per style, film and rate."""
    differences = (f"difference, {way}" for way in WAYS)
    flickers = (f"flicker, {way}" for way in ("painted", *WAYS))
    lines = [("style", "film", "paintings a second", *differences, *flickers)]
    for style in fluid["styles"]:
        for row in style["films"]:
            of = [row["difference"][way] for way in WAYS]
            of += [row["flicker"][way] for way in ("painted", *WAYS)]
            film = Path(row["film"]).stem
            lines.append((style["title"], film, str(row["rate"]), *map(figure, of)))
    return lines
