"""Formats durations as text."""

from __future__ import annotations

from collections.abc import Callable

from utils.text import clock
from utils.translation.texts import tr, trn

# Seconds per unit, and its words for a count.
_UNITS: tuple[tuple[float, Callable[[int], str]], ...] = (
    (86_400.0, lambda n: trn("{n} day", "{n} days", n)),
    (3_600.0, lambda n: trn("{n} hour", "{n} hours", n)),
    (60.0, lambda n: trn("{n} minute", "{n} minutes", n)),
    (0.0, lambda n: trn("{n} second", "{n} seconds", n)),
)


FEW_S = 10.0  # a shorter duration is "a few seconds"


def format_duration(seconds: float) -> str:
    """Return a rounded duration in one unit: "31 hours", "2 minutes", "a few seconds"."""
    if seconds < FEW_S:
        return tr("a few seconds")
    length, words = next(unit for unit in _UNITS if seconds >= 1.5 * unit[0])
    return words(round(seconds / (length or 1.0)))


def format_remaining(seconds: float) -> str:
    """Return "1:02:05 left" or "3:20 left"; days and hours from one day on."""
    if seconds >= 86_400:
        days, rest = divmod(round(seconds), 86_400)
        return tr("{days} d {hours} h left", days=days, hours=rest // 3600)
    return tr("{clock} left", clock=clock(round(seconds)))
