"""Keeps an unfinished training run in a file, and finds it again."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import torch

from models.training.errors import TrainingError
from models.training.run import Run
from utils.files import write_whole

FORMAT = "styleforge-training-1"


def save_run(path: Path, run: Run) -> None:
    """Write `run` to `path`, whole or not at all; TrainingError if it cannot be written."""
    # Through memory: on a full disk PyTorch's own writer dies without saying why.
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **run.state()}, buffer)
    try:
        write_whole(path, buffer.getvalue())
    except OSError as exc:
        kept = "; the one written before is kept" if path.is_file() else ""
        raise TrainingError(
            f"the checkpoint '{path}' of iteration {run.iteration} could not be written "
            f"({exc.strerror or exc}){kept}"
        ) from exc


def resume_run(path: Path, run: Run) -> None:
    """Put `run` where the run in `path` stopped; TrainingError if that is not the same run."""
    if not path.is_file():
        raise TrainingError(f"there is no run to resume: '{path}' does not exist")
    try:
        state = torch.load(path, map_location=run.device, weights_only=True)
    except (RuntimeError, EOFError, ValueError, KeyError, OSError, pickle.UnpicklingError) as exc:
        raise TrainingError(f"'{path}' is not a training checkpoint, or is damaged") from exc
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise TrainingError(f"'{path}' is not a training checkpoint")
    try:
        differences = run.differences(state)
    except (KeyError, ValueError, TypeError, AttributeError) as exc:
        raise TrainingError(f"'{path}' is not a training checkpoint, or is damaged") from exc
    if differences:
        raise TrainingError(
            f"the run in '{path}' cannot be resumed with other settings: it was started with "
            + ", ".join(differences)
        )
    try:
        run.restore(state)
    except (KeyError, ValueError, TypeError, AttributeError, RuntimeError) as exc:
        raise TrainingError(f"'{path}' is a damaged training checkpoint") from exc
