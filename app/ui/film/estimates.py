"""The words for the estimated time and size of a film."""

from __future__ import annotations

from app.ui.durations import FEW_S, format_duration
from utils.translation.numbers import significant
from utils.translation.texts import tr

_MEGA, _GIGA = 1e6, 1e9  # bytes, as in file managers


def time_words(seconds: float) -> str:
    if seconds < FEW_S:
        return tr("A few seconds")
    return tr("About {duration}", duration=format_duration(seconds))


def size_words(size: float) -> str:
    """Return a file size with two digits, as in "About 180 MB": the estimate has no more."""
    if size < _MEGA:
        return tr("Less than 1 MB")
    unit = _GIGA if size >= 0.95 * _GIGA else _MEGA
    shown = significant(size / unit, 2)
    if unit == _GIGA:
        return tr("About {n} GB", n=shown)
    return tr("About {n} MB", n=shown)
