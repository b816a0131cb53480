"""Formats the forecast of a training as text."""

from __future__ import annotations

from app.training.state import Forecast
from app.ui.durations import format_duration


def confirmation_text(forecast: Forecast, *, beside_picture: bool = False) -> str:
    """Return the question before a long run; `beside_picture`: the live stream runs meanwhile."""
    where = f"on {forecast.device}" if forecast.on_gpu else "on this processor"
    hope = "" if forecast.on_gpu else "; a GPU would take minutes"
    slowed = ""
    if beside_picture and not forecast.on_gpu:
        slowed = " Training is faster while the live stream is paused."
    return f"About {format_duration(forecast.seconds)} {where}{hope}.{slowed} Start anyway?"
