"""Keeps every training run in a folder of its own until its style is finished.

A run works where no style is looked for, so a cancelled or broken one leaves no half pack: what
is thrown away is one folder, and a style arrives among the others by one renaming.
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
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels
from utils.text import printable

FORMAT = 1
PICTURE_SIDE = 1536  # pixels; twice what the largest strokes are learned from
FRAME_SIDE = 1024  # pixels; previews are made smaller
STALE_S = 86_400.0
BEGUN, DISCARDED = ".begun-", ".discarded-"  # how a folder that is being made or deleted is called
MOST = 16 << 20  # bytes of a run's description; 10,000 steps take 1 MB
KEY = "style"  # of the pack inside a run; it gets a better one among the others


class RunError(StyleForgeError):
    """A run that cannot be begun, or a folder that holds none."""


class DamagedRunError(RunError):
    """A folder with something learned in it, but without a readable description of the run."""


@dataclass(frozen=True, slots=True)
class LossPoint:
    """The losses at an iteration, in relative form."""

    iteration: int
    content: float
    style: float
    total: float


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A run on disk. `picture` is the name of the style picture, without its ending; `flags`
    are those of the order; `iterations` how many it is to take; `history` the losses up to where
    it was last put down."""

    path: Path
    title: str
    picture: str
    flags: tuple[str, ...]
    iterations: int
    history: tuple[LossPoint, ...] = ()

    @property
    def style_picture(self) -> Path:
        return self.path / "picture" / f"{self.picture}.png"  # its name is told in the pack

    @property
    def preview_source(self) -> Path:
        """The frame the style so far is shown on; read again whenever it changes."""
        return self.path / "frame.png"

    @property
    def thumbnail_source(self) -> Path:
        return self.path / "scene.png"

    @property
    def pack(self) -> Path:
        """The finished style; only there at the end."""
        return self.path / "out" / KEY

    @property
    def checkpoint(self) -> Path:
        return self.path / "out" / f"{KEY}.training.pt"

    @property
    def preview(self) -> Path:
        return self.path / "out" / f"{KEY}.preview.png"

    @property
    def iteration(self) -> int:
        """How far it was when it was last put down, 0 if that is not known."""
        return self.history[-1].iteration if self.history else 0

    @property
    def worth_keeping(self) -> bool:
        """Whether anything was learned that would be lost."""
        return self.checkpoint.is_file() or self.pack.is_dir()

    def arguments(self, *more: str) -> list[str]:
        """The command line of `train` for this run, going on where it stopped."""
        resume = ["--resume"] if self.checkpoint.is_file() else []
        return [
            "train",
            *("--style-image", str(self.style_picture)),
            *("--preview", str(self.preview_source)),
            *("--thumbnail", str(self.thumbnail_source)),
            *("--output", str(self.path / "out")),
            *("--name", KEY),
            *self.flags,
            *resume,
            *more,
        ]

    def keep_frame(self, frame: NDArray[np.uint8]) -> None:
        """Make the next previews on `frame`, (H, W, 3) uint8 RGB; ImageError if it cannot be
        written."""
        write_pixels(self.preview_source, fit(frame, min(FRAME_SIDE, max(frame.shape[:2]))))

    def with_history(self, history: tuple[LossPoint, ...]) -> RunDirectory:
        return replace(self, history=history)

    def write(self) -> None:
        """Store what a later sitting needs to know; OSError if it cannot be written."""
        values = {
            "format": FORMAT,
            "title": self.title,
            "picture": self.picture,
            "flags": self.flags,
            "iterations": self.iterations,
            "history": [[p.iteration, p.content, p.style, p.total] for p in self.history],
        }
        atomic_write(self.path / "run.json", json.dumps(values).encode())


class RunStore:
    """The runs under `root`, which need not exist yet."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def create(
        self, order: TrainingRequest, frame: NDArray[np.uint8], scene: NDArray[np.uint8]
    ) -> RunDirectory:
        """A folder for `order`, with what the run needs of files that may move: the style
        picture, the `frame` previews are made on and the `scene` of the thumbnail, both
        (H, W, 3) uint8 RGB. RunError, and no folder, if it cannot be made."""
        try:
            picture = read_pixels(order.picture)
        except ValueError as exc:  # ImageError is one
            raise RunError(str(exc)) from exc
        folder = None
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            words = re.sub(r"[^a-z0-9]+", "-", order.title.casefold()).strip("-")[:32]
            folder = Path(tempfile.mkdtemp(prefix=f"{BEGUN}{words or KEY}-", dir=self._root))
            stem = order.picture.stem
            run = RunDirectory(folder, order.title, stem, order.flags(), order.preset.iterations)
            run.style_picture.parent.mkdir()
            write_pixels(run.style_picture, fit(picture, min(PICTURE_SIDE, max(picture.shape[:2]))))
            run.keep_frame(frame)
            write_pixels(run.thumbnail_source, scene)
            run.write()
            path = folder.with_name(folder.name.removeprefix(BEGUN))
            folder.rename(path)
        except (OSError, ValueError) as exc:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            reason = getattr(exc, "strerror", None) or exc
            raise RunError(f"the training run could not be written: {reason}") from exc
        return replace(run, path=path)

    def all(self) -> tuple[RunDirectory, ...]:
        """Every run, the newest first. What is not readable is left alone."""
        found = []
        for path in self._folders():
            try:
                found.append((path.stat().st_mtime, read(path)))
            except (RunError, OSError):  # of another version, or just going
                continue
        return tuple(run for _, run in sorted(found, key=lambda pair: pair[0], reverse=True))

    def _folders(self) -> list[Path]:
        paths = self._root.iterdir() if self._root.is_dir() else ()
        return sorted(path for path in paths if not path.name.startswith("."))

    def damaged(self) -> tuple[str, ...]:
        """One sentence for each folder with something learned whose description is damaged."""
        found = []
        for path in self._folders():
            try:
                read(path)
            except DamagedRunError as exc:
                found.append(str(exc))
            except RunError:  # of another version
                continue
        return tuple(found)

    def clear_leftovers(self) -> None:
        """Delete the folders of which a killed program left a part; those being made only after
        a day, for another window may be at it."""
        for path in self._root.glob(f"{DISCARDED}*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self._root.glob(f"{BEGUN}*"):
            if time.time() - path.stat().st_mtime > STALE_S:
                shutil.rmtree(path, ignore_errors=True)

    def is_stale(self, run: RunDirectory) -> bool:
        """Whether nothing came of `run` for a day: a program that died left it."""
        return not run.worth_keeping and time.time() - run.path.stat().st_mtime > STALE_S

    def delete(self, run: RunDirectory) -> None:
        """Delete a run and everything it learned; RunError if that cannot be done."""
        if run.path.parent != self._root:
            raise RunError(f"'{run.path}' is not a training run of this library")
        discarded = run.path.with_name(f"{DISCARDED}{run.path.name}")
        try:
            run.path.rename(discarded)  # so that half a run is never offered
            shutil.rmtree(discarded)
        except FileNotFoundError:
            return
        except OSError as exc:
            raise RunError(f"the run of '{run.title}' could not be deleted: {exc}") from exc


def read(path: Path) -> RunDirectory:
    """The run in the folder `path`, without its history if that is damaged; RunError if it holds
    no run."""
    description = path / "run.json"
    try:
        values: Any = json.loads(read_regular(description, MOST).decode("utf-8"))
        if values["format"] != FORMAT:
            raise RunError(f"'{printable(path.name)}' was written by another version of StyleForge")
        title, picture, flags = values["title"], values["picture"], values["flags"]
        iterations = values["iterations"]
        if not (isinstance(flags, list) and type(iterations) is int and iterations > 0):
            raise TypeError("flags should be a list, iterations a number")
        if not all(isinstance(text, str) for text in (title, picture, *flags)):
            raise TypeError("title, picture and flags should be text")
        if Path(picture).name != picture:
            raise ValueError("the picture should be in the folder")
        if not title.strip():
            raise ValueError("there should be a title")
        run = RunDirectory(path, printable(title), picture, tuple(flags), iterations)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as exc:
        learned = RunDirectory(path, "", "", (), 0)
        if not learned.worth_keeping:
            raise RunError(f"'{printable(path.name)}' is not a training run") from exc
        rest = learned.pack if learned.pack.is_dir() else learned.checkpoint
        raise DamagedRunError(
            f"the training in '{path}' cannot be resumed: its 'run.json' is missing or damaged; "
            f"'{rest}' can be installed as a style, or the folder be deleted"
        ) from exc
    return run.with_history(_points(values.get("history")))


def _points(kept: Any) -> tuple[LossPoint, ...]:
    """The losses as they were noted; none if they are damaged, for they are only shown until
    the run goes on from its checkpoint, which has them too."""
    try:
        history = tuple(LossPoint(int(n), float(c), float(s), float(t)) for n, c, s, t in kept)
    except (ValueError, TypeError, OverflowError):
        return ()
    rising = all(a.iteration < b.iteration for a, b in itertools.pairwise(history))
    finite = all(math.isfinite(x) for p in history for x in (p.content, p.style, p.total))
    return history if rising and finite else ()
