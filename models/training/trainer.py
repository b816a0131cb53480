"""Drives a training run from step to step, and tells of its progress."""

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
from models.training.run import Run, StepLosses

READ_EVERY = 20  # iterations between two looks at a GPU's losses, each of which waits for it
PREVIEW_SHARE = 0.04  # of the time, that may go into previews
KEEP_EVERY = 100  # iterations between two copies of a good state in memory


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """How far a run is. The losses are in relative form and of one batch; `loss` is their
    weighed sum; `per_second` counts iterations; `preview` is (H, W, 3) uint8 RGB, where a new
    one was made; `skipped` counts photographs that could not be read; `stability` and `teacher`
    are 0 where they have no weight. `kept` is the iteration of the newest checkpoint that is
    written, 0 without one."""

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
    """Take `run` to its end, or to where `stop` says so; both leave a checkpoint.

    `preview` gives a picture to show the style so far on, at most every `preview_seconds` and
    seldom enough to cost PREVIEW_SHARE of the time. What is read of the losses becomes the
    run's history.
    Training cannot outlive a loss or weight that is not finite: the run goes back to its last
    good state, writes that as a checkpoint, and TrainingError says so. A checkpoint that cannot
    be written is a TrainingError too, and leaves the one before.
    """
    read_every = READ_EVERY if run.device.type == "cuda" else 1
    good = run.state()
    first, began, earlier = run.iteration, time.perf_counter(), run.seconds
    due, kept = -math.inf, run.iteration
    while not run.finished and not stop():
        terms = run.step()
        save = run.iteration % checkpoint_interval == 0
        keep = save or run.iteration % KEEP_EVERY == 0
        if not (keep or run.finished or run.iteration % read_every == 0):
            continue
        reading = StepLosses(run.iteration, *terms.tolist())
        now = time.perf_counter()
        run.seconds = earlier + now - began
        sound = math.isfinite(reading.loss) and (not (keep or run.finished) or run.healthy())
        if not sound:
            raise _broken(run, good, checkpoint)
        run.history.append(reading)
        if keep:
            good = run.state()
        if save and not run.finished:
            save_run(checkpoint, run)
            kept = run.iteration
        picture = None
        if preview is not None and (run.finished or now >= due):
            picture = run.styled(preview())
            cost = time.perf_counter() - now
            due = now + max(preview_seconds, cost / PREVIEW_SHARE)
        pace = (run.iteration - first) / (now - began)
        yield Progress(
            total=run.config.iterations,
            **reading._asdict(),
            per_second=pace,
            seconds_left=(run.config.iterations - run.iteration) / pace,
            preview=picture,
            skipped=run.skipped,
            kept=kept,
        )
    if run.iteration > kept:
        save_run(checkpoint, run)


def _broken(run: Run, good: dict[str, object], checkpoint: Path) -> TrainingError:
    """What to raise after a step that was not finite, with `run` back in its good state."""
    failed = run.iteration
    run.restore(good)
    kept = f"the weights of iteration {run.iteration} are kept in '{checkpoint}'"
    if run.iteration == 0:
        kept = "nothing was learned yet"
    else:
        save_run(checkpoint, run)
    return TrainingError(
        f"training stopped at iteration {failed}: the loss is no longer a finite number; "
        f"{kept}; try a smaller --lr"
    )
