"""Puts the values of a training into words: forecast, pace, photographs."""

from __future__ import annotations

from app.training.dataset_scan import DatasetScan
from app.training.state import Forecast
from app.translation.texts import tr, trn
from app.ui.durations import format_duration
from app.ui.languages.start import number, significant

FEW_PHOTOGRAPHS = 100  # smaller datasets get a warning


def confirmation_text(forecast: Forecast, *, beside_picture: bool = False) -> str:
    """Return the question before a long run; `beside_picture`: the live stream runs meanwhile."""
    duration = format_duration(forecast.seconds)
    if forecast.on_gpu:
        return tr(
            "About {duration} on {device}. Start anyway?",
            duration=duration,
            device=forecast.device,
        )
    if beside_picture:
        return tr(
            "About {duration} on this processor; a GPU would take minutes. Training is faster "
            "while the live stream is paused. Start anyway?",
            duration=duration,
        )
    return tr(
        "About {duration} on this processor; a GPU would take minutes. Start anyway?",
        duration=duration,
    )


def pace_text(per_second: float) -> str:
    """Return the measured speed, such as "12 steps a minute"."""
    if per_second >= 1:
        steps = round(per_second)
        return trn("{n} step a second", "{n} steps a second", steps, n=number(steps))
    steps_a_minute = significant(60 * per_second, 2)
    form = 1 if steps_a_minute == "1" else 2
    return trn("{n} step a minute", "{n} steps a minute", form, n=steps_a_minute)


def scan_text(scan: DatasetScan) -> str:
    """Return the result of a scan in one or two sentences."""
    if scan.problem:
        return f"{scan.problem[:1].upper()}{scan.problem[1:]}"
    unusable, all_checked = len(scan.faults), scan.decoded == scan.found
    text = trn("{n} photograph", "{n} photographs", scan.found, n=number(scan.found))
    decoded = number(scan.decoded)
    if unusable and all_checked:
        text = trn(
            "{text}; {n} cannot be used and will be left out",
            "{text}; {n} cannot be used and will be left out",
            unusable,
            text=text,
        )
    elif unusable:
        text = trn(
            "{text}; {n} of {decoded} checked cannot be used and will be left out",
            "{text}; {n} of {decoded} checked cannot be used and will be left out",
            unusable,
            text=text,
            decoded=decoded,
        )
    elif all_checked:
        text = tr("{text}, all usable", text=text)
    else:
        text = tr("{text}; {n} checked, all usable", text=text, n=decoded)
    if scan.found - unusable < FEW_PHOTOGRAPHS:
        text = tr(
            "{text}. This is a small dataset: the style will fit these pictures better than "
            "others; use several hundred different ones",
            text=text,
        )
    return text
