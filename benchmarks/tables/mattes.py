"""Formats the measurement of mattes by the difference to an empty scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from benchmarks.tables.cells import figure, milliseconds


def mattes_table(mattes: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the header, and a line per condition of recording: figures over its films."""
    header = "intersection over union", "least of a frame", "edge flicker, walking"
    lines = [("recorded with", *header, "edge flicker, still", "ms")]
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for film in mattes["films"]:
        rows.setdefault(film["conditions"], []).append(film)
    return [*lines, *((name, *_figures(films)) for name, films in rows.items())]


def _figures(films: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    means = [fmean(film[each] for film in films) for each in ("moving_flicker", "still_flicker")]
    return (
        figure(fmean(film["overlap"] for film in films), 3),
        figure(min(film["least"] for film in films), 3),
        *(f"{mean:.1%}".replace("%", " %") for mean in means),
        milliseconds(median(film["milliseconds"] for film in films)),
    )
