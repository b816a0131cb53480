"""Converts the JSON events of the training process into values and texts."""

from __future__ import annotations

from typing import Any

from app.training.run_store import LossPoint
from app.training.state import Forecast, TrainingProgress
from models.training.presets import Preset

CURVE_POINTS = 1500  # points of a run's loss history


def loading_text(what: str, done: int, total: int) -> str:
    """Describe that `done` of `total` (0: unknown) files, or bytes, are loaded."""
    if what.endswith(", bytes"):
        of = f" of {total / 1e6:.0f}" if total else ""
        return f"Downloading {what.removesuffix(', bytes')}: {done / 1e6:.0f}{of} MB"
    return f"{what}: {done:,} of {total:,}" if total else f"{what}: {done:,}"


def forecast_from(event: dict[str, Any], preset: Preset, less: Preset | None) -> Forecast:
    """Return the forecast of an "estimate" event.

    Args:
        event: measured with `preset`.
        preset: of the request.
        less: a cheaper preset to offer, if there is one.
    """
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
    """Return the progress of a "progress" event."""
    return TrainingProgress(
        int(event["iteration"]),
        int(event["total"]),
        float(event["seconds_left"]),
        float(event["per_second"]),
        int(event["skipped"]),
    )


def losses_from(event: dict[str, Any]) -> LossPoint:
    """Return the losses of a "progress" event."""
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
