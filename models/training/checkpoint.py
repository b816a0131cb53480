"""Saves and resumes an unfinished run; an interrupted save leaves the last complete file."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch

from models.safe_load import is_dict, load_tensors
from models.training.errors import TrainingError
from models.training.saved_run import SavedRun
from utils.text import printable
from utils.translation.joints import clauses, enumerated
from utils.translation.numbers import number
from utils.translation.texts import tr

PATH = 1000  # characters of a full path in a message


Run = SavedRun[Any, Any]


def save_run(path: Path, run: Run) -> None:
    """Write a checkpoint atomically, and preserve the existing file as the previous checkpoint.

    For one process at a time: a save overwrites the leftovers of a killed process. Raise
    TrainingError if the checkpoint cannot be written; both files are then unchanged.
    """
    # Through memory: on a full disk, PyTorch's own writer fails without a reason.
    buffer = io.BytesIO()
    torch.save({"format": run.checkpoint_format, **run.state()}, buffer)
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
        kept = tr("StyleForge kept the previous checkpoint") if path.is_file() else ""
        unwritten = tr(
            "the checkpoint '{file}' of iteration {n} could not be written ({error})",
            file=printable(str(path), PATH),
            n=number(run.iteration),
            error=exc.strerror or exc,
        )
        raise TrainingError(clauses((unwritten, kept))) from exc


def resume_run(path: Path, run: Run) -> str:
    """Restore a new run with the same settings; the previous checkpoint replaces a damaged one.

    Return a sentence if the previous checkpoint was used; otherwise "".

    Raises:
        TrainingError: If neither checkpoint can be used, or it belongs to a run with other
            settings.
    """
    if not path.is_file():
        shown = printable(str(path), PATH)
        raise TrainingError(tr("there is no run to resume: '{file}' does not exist", file=shown))
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
    # Immediately: the next save would preserve the damaged file as the previous checkpoint.
    previous.replace(path)
    return tr("'{file}' was damaged; the checkpoint before it is used", file=printable(path.name))


def forget_run(path: Path) -> None:
    """Delete both checkpoints, the newest last, so that a killed process leaves it usable."""
    previous_of(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def clear_leftovers(path: Path) -> None:
    """Remove the temporary files of a killed process; the caller must hold the run's lock."""
    previous = previous_of(path)
    _temporary(path).unlink(missing_ok=True)
    _temporary(previous).unlink(missing_ok=True)
    if not path.is_file():  # the user deleted the run
        previous.unlink(missing_ok=True)


def previous_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _keep_as_previous(path: Path) -> None:
    """Link `path` as `previous_of(path)`; both names are complete files at every moment."""
    previous = previous_of(path)
    temporary = _temporary(previous)
    temporary.unlink(missing_ok=True)
    try:
        try:
            os.link(path, temporary)
        except OSError:  # FAT file systems have no hard links
            shutil.copyfile(path, temporary)
        temporary.replace(previous)
    finally:
        temporary.unlink(missing_ok=True)


class _DamagedError(TrainingError):
    """Raised if the file cannot be read as a checkpoint; the previous one may be readable."""


def _resume(path: Path, run: Run) -> None:
    state, shown = _read(path, run.checkpoint_format), printable(str(path), PATH)
    try:
        differences = run.differences(state)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise _DamagedError(
            tr("'{file}' is not a training checkpoint, or is damaged", file=shown)
        ) from exc
    if differences:
        raise TrainingError(
            tr(
                "the run in '{file}' cannot be resumed with other settings: it was started with "
                "{settings}",
                file=shown,
                settings=printable(enumerated(differences)),
            )
        )
    try:
        run.restore(state)
    except (LookupError, ValueError, TypeError, AttributeError, RuntimeError, OverflowError) as exc:
        raise _DamagedError(tr("'{file}' is a damaged training checkpoint", file=shown)) from exc


def _read(path: Path, expected: str) -> dict[str, Any]:
    shown = printable(str(path), PATH)
    try:
        with path.open("rb") as file:
            _check_sums(file)
            file.seek(0)
            state = load_tensors(file)
    except (OSError, ValueError) as exc:
        raise _DamagedError(
            tr("'{file}' is not a training checkpoint, or is damaged", file=shown)
        ) from exc
    if not is_dict(state) or state.get("format") != expected:
        raise _DamagedError(tr("'{file}' is not a training checkpoint", file=shown))
    return state


def _check_sums(file: BinaryIO) -> None:
    """Check a PyTorch file's checksums, which PyTorch ignores.

    Raises:
        ValueError: If a checksum differs or the ZIP archive is damaged.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            altered = archive.testzip()
    except Exception as exc:  # zipfile does not document its exceptions for damaged archives
        raise ValueError("not a ZIP archive, or a damaged one") from exc
    if altered:
        raise ValueError(f"{altered} has another checksum")
