"""The training loop of the any-style network: steps, checkpoints and readings of the losses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from pathlib import Path

from models.training.checkpoint import save_run
from models.training.errors import TrainingError
from models.training.vit.run import VitLosses, VitRun
from utils.translation.numbers import number
from utils.translation.texts import tr


def train_vit(
    run: VitRun,
    checkpoint: Path,
    *,
    checkpoint_interval: int = 5000,
    stage_seconds: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[VitLosses]:
    """Train to the end of the run or of a stage, or until `stop`; then write a checkpoint.

    Every process of the team must call this, and all of them end together. The first one writes.
    The losses are yielded whenever they were read.

    Args:
        checkpoint_interval: Steps between checkpoints.
        stage_seconds: Time after which this call ends, to be resumed later.
        stop: Called between steps; True ends the training at the next reading.

    Raises:
        TrainingError: If a loss or a weight is not finite, or a checkpoint cannot be written; the
            previous one remains.
    """
    team = run.team
    earlier, began = run.seconds, time.perf_counter()
    ends, due = run.finished, run.iteration + checkpoint_interval
    while not ends:
        losses = run.step()
        if run.iteration % run.read_every and not run.finished:
            continue
        elapsed = earlier + time.perf_counter() - began
        elapsed, stopped = team.agree(elapsed, stop())
        read = run.read(losses, elapsed)
        ends = run.finished or stopped or elapsed - earlier >= stage_seconds
        save = ends or run.iteration >= due
        if not math.isfinite(read.loss) or (save and not run.healthy()):
            raise TrainingError(
                tr(
                    "training stopped at step {n}: the loss is no longer a finite number; "
                    "--resume continues from the last checkpoint; try a smaller --lr",
                    n=number(run.iteration),
                )
            )
        if save:
            due = run.iteration + checkpoint_interval
            if team.leads:
                save_run(checkpoint, run)
        yield read
    team.wait()
