"""Formats durations as text."""

from __future__ import annotations

_UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0))


def format_duration(seconds: float) -> str:
    """Return a rounded duration in one unit: "31 hours", "2 minutes", "a few seconds"."""
    if seconds < 10:
        return "a few seconds"
    for name, length in _UNITS:
        if seconds >= 1.5 * length or name == "second":
            number = round(seconds / length)
            return f"{number} {name}" if number == 1 else f"{number} {name}s"
    raise AssertionError("the last unit takes everything")


def format_remaining(seconds: float) -> str:
    """Return "1:02:05 left" or "3:20 left"; from a day on, days and hours."""
    if seconds >= 86_400:
        days, rest = divmod(round(seconds), 86_400)
        return f"{days} d {rest // 3600} h left"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    clock = f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
    return f"{clock} left"
