"""Times and shares in words, as exact as they are known and no more."""

from __future__ import annotations

from app.training.state import Forecast

_UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0))


def about(seconds: float) -> str:
    """ "31 hours", "2 minutes", "a few seconds": one unit, rounded, for a forecast."""
    if seconds < 10:
        return "a few seconds"
    for name, length in _UNITS:
        if seconds >= 1.5 * length or name == "second":
            number = round(seconds / length)
            return f"{number} {name}" if number == 1 else f"{number} {name}s"
    raise AssertionError("the last unit takes everything")


def left(seconds: float) -> str:
    """ "1:02:05 left", "3:20 left"; from a day on, in days and hours."""
    if seconds >= 86_400:
        days, rest = divmod(round(seconds), 86_400)
        return f"{days} d {rest // 3600} h left"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    clock = f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
    return f"{clock} left"


def question(forecast: Forecast, *, beside_picture: bool = False) -> str:
    """What is asked before a long run; `beside_picture`: the live picture is styled meanwhile."""
    where = f"on {forecast.device}" if forecast.on_gpu else "on this processor"
    hope = "" if forecast.on_gpu else "; a GPU takes minutes"
    slowed = ""
    if beside_picture and not forecast.on_gpu:
        slowed = " It is quicker while the live picture is paused."
    return f"About {about(forecast.seconds)} {where}{hope}.{slowed} Start anyway?"
