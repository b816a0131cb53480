"""Conversion of the training process's JSON events into values and texts."""

from __future__ import annotations

from typing import Any

from app.training.run_store import LossPoint
from app.training.state import Forecast, TrainingProgress
from models.training.presets import Preset
from utils.translation.texts import mark, tr

CURVE_POINTS = 1500  # points of a run's loss history


_BYTES = ", bytes"  # suffix of the name of a download
_LOADED = {"Photographs": mark("Photographs")}  # other loading steps, by the process's names


def loading_text(what: str, done: int, total: int) -> str:
    """Describe the loading of `done` of `total` (0: unknown) files or bytes."""
    if what.endswith(_BYTES):
        what, done, total = what.removesuffix(_BYTES), round(done / 1e6), round(total / 1e6)
        if total:
            return tr("Downloading {name}: {done} of {total} MB", name=what, done=done, total=total)
        return tr("Downloading {name}: {done} MB", name=what, done=done)
    what = tr(_LOADED[what])
    if total:
        return tr("{what}: {done} of {total}", what=what, done=done, total=total)
    return tr("{what}: {done}", what=what, done=done)


def forecast_from(event: dict[str, Any], preset: Preset, less: Preset | None) -> Forecast:
    """Return the forecast of an "estimate" event; `less` is a cheaper preset to offer, if any."""
    device, seconds = str(event["device"]), float(event["seconds"])
    return Forecast(
        seconds,
        float(event["seconds_per_iteration"]),
        device,
        device != "CPU",
        less,
        seconds * less.work / preset.work if less else 0.0,
    )


def history_from(event: dict[str, Any]) -> list[LossPoint]:
    """Return the losses up to the checkpoint of a "resumed" event."""
    return [
        LossPoint(int(step), float(content), float(style), float(loss))
        for step, loss, content, style, *_ in event["history"]
    ]


def progress_from(event: dict[str, Any]) -> TrainingProgress:
    return TrainingProgress(
        int(event["iteration"]),
        int(event["total"]),
        float(event["seconds_left"]),
        float(event["per_second"]),
        int(event["skipped"]),
    )


def losses_from(event: dict[str, Any]) -> LossPoint:
    return LossPoint(
        int(event["iteration"]),
        float(event["content"]),
        float(event["style"]),
        float(event["loss"]),
    )


def thinned(history: list[LossPoint]) -> tuple[LossPoint, ...]:
    """Keep about CURVE_POINTS of the points, and always the last one."""
    step = max(1, len(history) // CURVE_POINTS)
    kept = history[::step]
    return tuple(kept if not history or kept[-1] is history[-1] else [*kept, history[-1]])
