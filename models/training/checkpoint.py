"""Keeps an unfinished training run in a file, and the one before it beside it, and finds it again.

Where the process is killed or the power fails, at any moment, the newest checkpoint that was
written whole is under its name.
"""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch

from models.safe_load import load_tensors
from models.training.errors import TrainingError
from models.training.run import Run
from utils.text import printable

FORMAT = "styleforge-training-1"
PATH = 1000  # characters of a whole path in a message


def save_run(path: Path, run: Run) -> None:
    """Write `run` to `path`, whole or not at all, keeping what was there as the checkpoint before;
    TrainingError if it cannot be written, which leaves both as they were. For one process at a
    time: temporary names are fixed, so that whatever a killed one left is written over."""
    # Through memory: on a full disk PyTorch's own writer dies without saying why.
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **run.state()}, buffer)
    fresh = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("wb") as file:
            file.write(buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        if path.is_file():
            _keep_as_previous(path)
        fresh.replace(path)
    except OSError as exc:
        fresh.unlink(missing_ok=True)
        kept = "; the one written before is kept" if path.is_file() else ""
        shown = printable(str(path), PATH)
        raise TrainingError(
            f"the checkpoint '{shown}' of iteration {run.iteration} could not be written "
            f"({exc.strerror or exc}){kept}"
        ) from exc


def resume_run(path: Path, run: Run) -> str:
    """Put `run` where the run in `path` stopped. Where that file is damaged, the checkpoint before
    it takes its place, and the answer is a sentence that says so; otherwise it is empty.
    TrainingError if neither can be used, or if it is not the same run."""
    if not path.is_file():
        shown = printable(str(path), PATH)
        raise TrainingError(f"there is no run to resume: '{shown}' does not exist")
    try:
        _resume(path, run)
        return ""
    except _DamagedError as damaged:
        previous = previous_of(path)
        if not previous.is_file():
            raise
        try:
            _resume(previous, run)
        except _DamagedError:
            raise damaged from None
    # At once: the next checkpoint would make the damaged one the checkpoint before.
    previous.replace(path)
    return f"'{printable(path.name)}' was damaged; the checkpoint before it is used"


def forget_run(path: Path) -> None:
    """Delete the run in `path`, its own file last, so that it is whole or gone."""
    previous_of(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def clear_leftovers(path: Path) -> None:
    """Remove what a killed process left of writing `path`; for the only one working on it."""
    previous = previous_of(path)
    _temporary(path).unlink(missing_ok=True)
    _temporary(previous).unlink(missing_ok=True)
    if not path.is_file():  # the user deleted the run
        previous.unlink(missing_ok=True)


def previous_of(path: Path) -> Path:
    """Where the checkpoint before that in `path` is kept."""
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _keep_as_previous(path: Path) -> None:
    """Give `path` the second name `previous_of(path)`, without a moment in which it has none."""
    previous = previous_of(path)
    temporary = _temporary(previous)
    temporary.unlink(missing_ok=True)
    try:
        try:
            os.link(path, temporary)
        except OSError:  # file systems of memory cards have no second names
            shutil.copyfile(path, temporary)
        temporary.replace(previous)
    finally:
        temporary.unlink(missing_ok=True)


class _DamagedError(TrainingError):
    """A file that cannot be read as a checkpoint, though another one might."""


def _resume(path: Path, run: Run) -> None:
    state, shown = _read(path), printable(str(path), PATH)
    try:
        differences = run.differences(state)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise _DamagedError(f"'{shown}' is not a training checkpoint, or is damaged") from exc
    if differences:
        raise TrainingError(
            f"the run in '{shown}' cannot be resumed with other settings: it was started with "
            + printable(", ".join(differences))
        )
    try:
        run.restore(state)
    except (LookupError, ValueError, TypeError, AttributeError, RuntimeError, OverflowError) as exc:
        raise _DamagedError(f"'{shown}' is a damaged training checkpoint") from exc


def _read(path: Path) -> dict[str, Any]:
    shown = printable(str(path), PATH)
    try:
        with path.open("rb") as file:
            _check_sums(file)
            file.seek(0)
            state = load_tensors(file)
    except (OSError, ValueError) as exc:
        raise _DamagedError(f"'{shown}' is not a training checkpoint, or is damaged") from exc
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise _DamagedError(f"'{shown}' is not a training checkpoint")
    return state


def _check_sums(file: BinaryIO) -> None:
    """ValueError if one of the checksums in a PyTorch file is wrong: PyTorch does not compare
    them, and would go on from altered weights."""
    try:
        with zipfile.ZipFile(file) as archive:
            altered = archive.testzip()
    except Exception as exc:  # what zipfile makes of damage is not told anywhere
        raise ValueError("not a ZIP archive, or a damaged one") from exc
    if altered:
        raise ValueError(f"{altered} has another checksum")
