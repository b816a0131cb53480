"""The store of training runs, each in its own folder until its style is finished.

They are outside the style folders: a cancelled or failed run leaves no incomplete pack, and one
rename moves a finished style.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.training.request import TrainingRequest
from models.training.run import fit
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels
from utils.text import printable
from utils.translation.texts import tr

FORMAT = 1
PICTURE_SIDE = 1536  # pixels; twice the largest style size of the presets
FRAME_SIDE = 1024  # pixels; previews are smaller
STALE_AFTER_S = 86_400.0
CREATING_PREFIX, DELETING_PREFIX = (
    ".begun-",
    ".discarded-",
)  # of folders being created or deleted
MAX_DESCRIPTION_BYTES = 16 << 20  # size limit of a run's description; 10,000 steps take 1 MB
PACK_NAME = "style"  # name of the pack inside a run; the catalog renames it


class RunError(StyleForgeError):
    """Raised if a run cannot be created, or a folder contains none."""


class DamagedRunError(RunError):
    """Raised for a folder with a checkpoint or a style, but no readable description."""


@dataclass(frozen=True, slots=True)
class LossPoint:
    """The relative losses at one iteration."""

    iteration: int
    content: float
    style: float
    total: float


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A run on disk.

    Attributes:
        picture: file name of the style picture, without the extension.
        flags: flags of the request.
        iterations: total number of iterations.
        lite_init: weights that its fast version starts from; empty for no fast version.
        history: losses up to the last pause.
    """

    path: Path
    title: str
    picture: str
    flags: tuple[str, ...]
    iterations: int
    lite_init: str = ""
    history: tuple[LossPoint, ...] = ()

    @property
    def style_picture(self) -> Path:
        """The style picture; its name is recorded in the pack."""
        return self.path / "picture" / f"{self.picture}.png"

    @property
    def preview_source(self) -> Path:
        """The picture for the previews; the process reads it again when it changes."""
        return self.path / "frame.png"

    @property
    def thumbnail_source(self) -> Path:
        return self.path / "scene.png"

    @property
    def pack(self) -> Path:
        """The finished style; it exists only at the end."""
        return self.path / "out" / PACK_NAME

    @property
    def checkpoint(self) -> Path:
        """The checkpoint to resume from: the style's, or later its fast version's."""
        lite = "-lite" if self.trains_lite else ""
        return self.path / "out" / f"{PACK_NAME}{lite}.training.pt"

    @property
    def trains_lite(self) -> bool:
        """Whether the style is finished and only its fast version is left to train."""
        lite = self.pack / "lite.safetensors"
        return bool(self.lite_init) and self.pack.is_dir() and not lite.is_file()

    @property
    def preview(self) -> Path:
        return self.path / "out" / f"{PACK_NAME}.preview.png"

    @property
    def iteration(self) -> int:
        """The iteration at the last pause; 0 if it is unknown."""
        return self.history[-1].iteration if self.history else 0

    @property
    def worth_keeping(self) -> bool:
        return self.checkpoint.is_file() or self.pack.is_dir()

    def arguments(self, *more: str) -> list[str]:
        """Return the command line of `train` for this run; it resumes if there is a checkpoint."""
        resume = ["--resume"] if self.checkpoint.is_file() else []
        lite = ["--network", "lite", "--init", self.lite_init] if self.trains_lite else []
        return [
            "train",
            *("--style-image", str(self.style_picture)),
            *("--preview", str(self.preview_source)),
            *("--thumbnail", str(self.thumbnail_source)),
            *("--output", str(self.path / "out")),
            *("--name", PACK_NAME),
            *self.flags,
            *lite,
            *resume,
            *more,
        ]

    def set_preview_frame(self, frame: NDArray[np.uint8]) -> None:
        """Store the picture for the next previews, [H, W, 3] uint8 RGB.

        Raises:
            ImageError: If the file cannot be written.
        """
        write_pixels(self.preview_source, fit(frame, min(FRAME_SIDE, max(frame.shape[:2]))))

    def with_history(self, history: tuple[LossPoint, ...]) -> RunDirectory:
        return replace(self, history=history)

    def write(self) -> None:
        """Store the description of the run.

        Raises:
            OSError: If the file cannot be written.
        """
        values = {
            "format": FORMAT,
            "title": self.title,
            "picture": self.picture,
            "flags": self.flags,
            "iterations": self.iterations,
            "lite_init": self.lite_init,
            "history": [[p.iteration, p.content, p.style, p.total] for p in self.history],
        }
        atomic_write(self.path / "run.json", json.dumps(values).encode())


class RunStore:
    """The runs in the folder `root`, which may not exist yet."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def create(
        self, request: TrainingRequest, frame: NDArray[np.uint8], scene: NDArray[np.uint8]
    ) -> RunDirectory:
        """Create a folder for `request` with copies of its pictures, [H, W, 3] uint8 RGB.

        `frame` is for the previews, `scene` for the thumbnail.

        Raises:
            RunError: If the folder cannot be created; no folder is left behind.
        """
        try:
            picture = read_pixels(request.picture)
        except ValueError as exc:  # ImageError is one
            raise RunError(str(exc)) from exc
        folder = None
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            words = re.sub(r"[^a-z0-9]+", "-", request.title.casefold()).strip("-")[:32]
            folder = Path(
                tempfile.mkdtemp(prefix=f"{CREATING_PREFIX}{words or PACK_NAME}-", dir=self._root)
            )
            stem = request.picture.stem
            run = RunDirectory(
                folder,
                request.title,
                stem,
                request.flags(),
                request.preset.iterations,
                str(request.lite_init or ""),
            )
            run.style_picture.parent.mkdir()
            write_pixels(run.style_picture, fit(picture, min(PICTURE_SIDE, max(picture.shape[:2]))))
            run.set_preview_frame(frame)
            write_pixels(run.thumbnail_source, scene)
            run.write()
            path = folder.with_name(folder.name.removeprefix(CREATING_PREFIX))
            folder.rename(path)
        except (OSError, ValueError) as exc:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            reason = getattr(exc, "strerror", None) or exc
            raise RunError(
                tr("the training run could not be written: {reason}", reason=reason)
            ) from exc
        return replace(run, path=path)

    def all(self) -> tuple[RunDirectory, ...]:
        """Return every readable run, the newest first."""
        found = []
        for path in self._folders():
            try:
                found.append((path.stat().st_mtime, read_run(path)))
            except (RunError, OSError):  # of another version, or just deleted
                continue
        return tuple(run for _, run in sorted(found, key=lambda pair: pair[0], reverse=True))

    def _folders(self) -> list[Path]:
        paths = self._root.iterdir() if self._root.is_dir() else ()
        return sorted(path for path in paths if not path.name.startswith("."))

    def damaged(self) -> tuple[str, ...]:
        """Return one sentence for each run with a checkpoint whose description is damaged."""
        found = []
        for path in self._folders():
            try:
                read_run(path)
            except DamagedRunError as exc:
                found.append(str(exc))
            except RunError:  # of another version
                continue
        return tuple(found)

    def clear_leftovers(self) -> None:
        """Delete the incomplete folders of killed programs.

        A day must have passed, since another window may be working on newer ones.
        """
        for path in self._root.glob(f"{DELETING_PREFIX}*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self._root.glob(f"{CREATING_PREFIX}*"):
            if time.time() - path.stat().st_mtime > STALE_AFTER_S:
                shutil.rmtree(path, ignore_errors=True)

    def is_stale(self, run: RunDirectory) -> bool:
        """Return whether `run` has had no checkpoint for a day, because its program was killed."""
        return not run.worth_keeping and time.time() - run.path.stat().st_mtime > STALE_AFTER_S

    def delete(self, run: RunDirectory) -> None:
        """Delete a run with its checkpoint.

        Raises:
            RunError: If the run is not in this store, or cannot be deleted.
        """
        if run.path.parent != self._root:
            raise RunError(tr("'{path}' is not a training run of this library", path=run.path))
        discarded = run.path.with_name(f"{DELETING_PREFIX}{run.path.name}")
        try:
            run.path.rename(discarded)  # so that a partly deleted run is never listed
            shutil.rmtree(discarded)
        except FileNotFoundError:
            return
        except OSError as exc:
            raise RunError(
                tr("the run of '{title}' could not be deleted: {error}", title=run.title, error=exc)
            ) from exc


def read_run(path: Path) -> RunDirectory:
    """Read the run in the folder `path`; a damaged history is left out.

    Raises:
        DamagedRunError: If there is a checkpoint or a style, but no readable description.
        RunError: If the folder contains no run.
    """
    description = path / "run.json"
    try:
        values: Any = small_json.loads_parts(read_regular(description, MAX_DESCRIPTION_BYTES))
        if values["format"] != FORMAT:
            raise RunError(
                tr(
                    "'{name}' was written by another version of StyleForge",
                    name=printable(path.name),
                )
            )
        title, picture, flags = values["title"], values["picture"], values["flags"]
        iterations, lite_init = values["iterations"], values.get("lite_init", "")
        if not (isinstance(flags, list) and type(iterations) is int and iterations > 0):
            raise TypeError("flags should be a list, iterations a number")
        if not all(isinstance(text, str) for text in (title, picture, lite_init, *flags)):
            raise TypeError("title, picture and flags should be text")
        if Path(picture).name != picture:
            raise ValueError("the picture should be in the folder")
        if not title.strip():
            raise ValueError("there should be a title")
        run = RunDirectory(path, printable(title), picture, tuple(flags), iterations, lite_init)
    except (OSError, ValueError, KeyError, TypeError) as exc:
        remains = RunDirectory(path, "", "", (), 0)
        if not remains.worth_keeping:
            raise RunError(tr("'{name}' is not a training run", name=printable(path.name))) from exc
        rest = remains.pack if remains.pack.is_dir() else remains.checkpoint
        raise DamagedRunError(
            tr(
                "the training in '{folder}' cannot be resumed: its 'run.json' is missing or "
                "damaged; install '{rest}' as a style, or delete the folder",
                folder=path,
                rest=rest,
            )
        ) from exc
    return run.with_history(_valid_history(values.get("history")))


def _valid_history(kept: Any) -> tuple[LossPoint, ...]:
    """Return the stored losses; none if damaged. The checkpoint's replace them on resuming."""
    try:
        history = tuple(LossPoint(int(n), float(c), float(s), float(t)) for n, c, s, t in kept)
    except (ValueError, TypeError, OverflowError):
        return ()
    rising = all(a.iteration < b.iteration for a, b in itertools.pairwise(history))
    finite = all(math.isfinite(x) for p in history for x in (p.content, p.style, p.total))
    return history if rising and finite else ()
