"""Formats the measurement of strokes with a direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import figure

KINDS = {"still": "scenes", "panned": "scenes", "films": "films"}  # figures by their rows


def strokes_table(strokes: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the header, and a line per style: flicker relative to strokes as they are.

    Of several networks or films, a figure is the largest.
    """
    directions = [_title(each) for each in strokes["directions"]]
    kinds = [kind for kind, rows in KINDS.items() if any(s[rows] for s in strokes["styles"])]
    lines = [("style", *(f"{kind}, {each}" for kind in kinds for each in directions))]
    for style in strokes["styles"]:
        cells = [each for kind in kinds for each in _largest(style[KINDS[kind]], kind, directions)]
        lines.append((style["title"], *cells))
    return lines


def _largest(
    rows: Sequence[Mapping[str, Any]], kind: str, directions: Sequence[str]
) -> Sequence[str]:
    if not rows:
        return [figure(None)] * len(directions)
    return [figure(max(each)) for each in zip(*(row[kind] for row in rows), strict=True)]


def _title(direction: float | str) -> str:
    return direction if isinstance(direction, str) else f"{direction:g} degrees"
