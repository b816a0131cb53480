"""Formats values of a training: runs, forecast, pace, photographs."""

from __future__ import annotations

from app.training.dataset_scan import DatasetScan
from app.training.run_store import RunDirectory
from app.training.state import Forecast, Phase, State, TrainingProgress
from app.ui.durations import format_duration, format_remaining
from models.training.download import layers_proven
from models.training.download.published import HOST, PART_MB, WHOLE_MB
from utils.text import capitalized
from utils.translation.numbers import number, significant
from utils.translation.texts import tr, trn

FEW_PHOTOGRAPHS = 100  # smaller datasets get a warning
NEAR_START = 30  # steps until the new style is visible


def confirmation_text(forecast: Forecast, *, beside_picture: bool = False) -> str:
    """Return the question before a long run; `beside_picture` tells that the stream continues."""
    duration = format_duration(forecast.seconds)
    if forecast.on_gpu:
        return tr(
            "About {duration} on {device}. Start anyway?", duration=duration, device=forecast.device
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
        return capitalized(scan.problem)
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


def status_text(state: State) -> str:
    run, progress = state.run, state.progress
    if state.phase is Phase.PAUSED and run is not None:
        if not run.iteration:
            return tr("'{title}' is paused", title=run.title)
        return tr("'{title}' is paused, step {step} of {steps}", **_steps(run))
    if state.phase is Phase.TRAINING and progress is not None and run is not None:
        return _training_text(run, progress)
    return tr(state.doing)


def shows_new_style(step: int, steps: int) -> bool:
    """Return whether a preview after `step` steps shows the new style.

    In the first steps, and in steps that only measure the speed, it still shows the style that
    training starts from.
    """
    return step >= min(NEAR_START, steps)


def caption_text(step: int) -> str:
    """Return the caption of a preview after `step` steps; at 0 another network made it."""
    if not step:
        return tr("A first impression; training makes it finer")
    return tr("Step {step}", step=number(step))


def unfinished_text(run: RunDirectory, more: int) -> str:
    """Return that a run is unfinished, and how many more are."""
    if run.iteration:
        text = tr(
            "The training of '{title}' is not finished: step {step} of {steps}.", **_steps(run)
        )
    else:
        text = tr("The training of '{title}' is not finished.", title=run.title)
    return trn("{text} ({n} more)", "{text} ({n} more)", more, text=text) if more else text


def busy_text(title: str, run: RunDirectory | None) -> str:
    if run is None:
        return tr(
            "'{title}' cannot be trained while the training of another style is not finished",
            title=title,
        )
    return tr(
        "'{title}' cannot be trained while the training of '{other}' is not finished",
        title=title,
        other=run.title,
    )


def cancel_text(run: RunDirectory, steps: int) -> str:
    return trn(
        "Stop training '{title}' after {n} step?",
        "Stop training '{title}' after {n} steps?",
        steps,
        n=number(steps),
        title=run.title,
    )


def download_text() -> str:
    """Return the download's content, its source and the available checks."""
    need = tr(
        "Training needs a helper network, VGG-19, that judges how well a style is learned: "
        "{size} MB, downloaded once from {host}. Nothing is sent.",
        size=PART_MB,
        host=HOST,
    )
    if layers_proven():
        checks = tr("StyleForge compares its checksums.")
    else:
        checks = tr(
            "StyleForge checks the server's identity and the shape of the data, but no checksum: "
            "one is published only for the whole file ({size} MB).",
            size=WHOLE_MB,
        )
    return f"{need} {checks}"


def whole_file_text(reason: str) -> str:
    """Return why the whole file of VGG-19 is needed, and its source."""
    return tr(
        "The layers that training uses cannot be downloaded alone: {reason}. The whole file of "
        "VGG-19 is {size} MB, downloaded once from {host}.",
        reason=reason,
        size=WHOLE_MB,
        host=HOST,
    )


def _steps(run: RunDirectory) -> dict[str, str]:
    return {
        "title": run.title,
        "step": number(run.iteration),
        "steps": number(run.iterations),
    }


def _training_text(run: RunDirectory, progress: TrainingProgress) -> str:
    values = {
        "title": run.title,
        "step": number(progress.iteration),
        "steps": number(progress.iterations),
        "left": format_remaining(progress.seconds_left),
        "pace": pace_text(progress.per_second),
    }
    if run.trains_lite:
        text = tr(
            "Training the fast version of '{title}': step {step} of {steps}, {left} at {pace}",
            **values,
        )
    else:
        text = tr("Training '{title}': step {step} of {steps}, {left} at {pace}", **values)
    if progress.skipped:
        text = trn(
            "{text}; {n} photograph left out",
            "{text}; {n} photographs left out",
            progress.skipped,
            text=text,
        )
    return text
