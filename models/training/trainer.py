"""The training loop: steps, checkpoints, previews and progress; and its measured speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.training.checkpoint import save_run
from models.training.errors import TrainingError
from models.training.run import Run
from utils.translation.joints import clauses
from utils.translation.numbers import number
from utils.translation.texts import tr

PREVIEW_SHARE = 0.04  # of the time, for previews
KEEP_EVERY = 100  # iterations between copies of the state in memory
MEASURED_S = 1.0  # duration of the measurement after the first step
SLOW_S = 30.0  # a first step that takes this long is the whole measurement


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """The progress of a run; the losses are in relative form, of one batch, before their weights.

    Attributes:
        loss: The weighted sum of the losses.
        per_second: Steps per second, of this process.
        seconds_left: Estimated time to the end of the run.
        preview: [H, W, 3] uint8, RGB; None without a new one.
        stability: 0 if it has no weight, like `weave`; `teacher` without one, too.
        kept: The iteration of the newest checkpoint on disk, or 0.
    """

    iteration: int
    total: int
    content: float
    style: float
    tv: float
    loss: float
    per_second: float
    seconds_left: float
    preview: NDArray[np.uint8] | None
    skipped: int
    stability: float = 0.0
    teacher: float = 0.0
    weave: float = 0.0
    kept: int = 0


def train(
    run: Run,
    checkpoint: Path,
    *,
    checkpoint_interval: int = 500,
    preview: Callable[[], NDArray[np.uint8]] | None = None,
    preview_seconds: float = 3.0,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Progress]:
    """Train to the end of the run, or until `stop`; both write a checkpoint.

    Progress is yielded whenever the losses were read, which are appended to `run.history`.

    Args:
        checkpoint_interval: Steps between checkpoints.
        preview: Returns the picture to stylize, [H, W, 3] uint8, RGB; None for no previews.
        preview_seconds: Minimum between previews; longer if they exceed PREVIEW_SHARE of the time.
        stop: Called before each step.

    Raises:
        TrainingError: If a loss or a weight is not finite: the run returns to its last good state,
            which is saved. Also if a checkpoint cannot be written; the previous one remains.
    """
    good = run.state()
    first, began, earlier = run.iteration, time.perf_counter(), run.seconds
    next_preview, kept = -math.inf, run.iteration
    while not run.finished and not stop():
        terms = run.step()
        save = run.iteration % checkpoint_interval == 0
        keep = save or run.iteration % KEEP_EVERY == 0
        if not (keep or run.finished or run.iteration % run.read_every == 0):
            continue
        losses = terms.read(run.iteration)
        now = time.perf_counter()
        run.seconds = earlier + now - began
        finite = math.isfinite(losses.loss) and (not (keep or run.finished) or run.healthy())
        if not finite:
            raise _broken(run, good, checkpoint)
        run.history.append(losses)
        if keep:
            good = run.state()
        if save and not run.finished:
            save_run(checkpoint, run)
            kept = run.iteration
        picture = None
        if preview is not None and (run.finished or now >= next_preview):
            picture = run.styled(preview())
            cost = time.perf_counter() - now
            next_preview = now + max(preview_seconds, cost / PREVIEW_SHARE)
        per_second = (run.iteration - first) / (now - began)
        yield Progress(
            total=run.config.iterations,
            **losses._asdict(),
            per_second=per_second,
            seconds_left=(run.config.iterations - run.iteration) / per_second,
            preview=picture,
            skipped=run.skipped,
            kept=kept,
        )
    if run.iteration > kept:
        save_run(checkpoint, run)


def _broken(run: Run, good: dict[str, object], checkpoint: Path) -> TrainingError:
    """Restore and save the last good state, and return the error for a step that was not finite."""
    failed = run.iteration
    run.restore(good)
    if run.iteration == 0:
        kept = tr("no checkpoint was written yet")
    else:
        save_run(checkpoint, run)
        kept = tr(
            "the weights of iteration {n} are kept in '{file}'",
            n=number(run.iteration),
            file=checkpoint,
        )
    stopped = tr(
        "training stopped at iteration {n}: the loss is no longer a finite number",
        n=number(failed),
    )
    return TrainingError(clauses((stopped, kept, tr("try a smaller --lr"))))


def seconds_per_step(run: Run) -> float:
    """Measure the seconds per training step of a run that serves no other purpose.

    The first step takes up to twice as long; it counts only if it took SLOW_S seconds.
    """
    start = time.perf_counter()
    run.step().read(run.iteration)  # waits for the device
    first = time.perf_counter() - start
    if first >= SLOW_S:
        return first
    steps, start, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < MEASURED_S:
        for _ in range(run.read_every - 1):
            run.step()
        run.step().read(run.iteration)
        steps += run.read_every
        elapsed = time.perf_counter() - start
    return elapsed / steps
