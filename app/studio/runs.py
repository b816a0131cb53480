"""Keeps every training run in a folder of its own until its style is finished.

A run works where no style is looked for, so a cancelled or broken one leaves no half pack: what
is thrown away is one folder, and a style arrives among the others by one renaming.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.problems import StyleForgeError
from app.studio.order import Order
from models.training.run import fit
from utils.files import write_whole
from utils.image_utils import load_image, save_image

FORMAT = 1
PICTURE_SIDE = 1536  # pixels; twice what the largest strokes are learned from
FRAME_SIDE = 1024  # pixels; previews are made smaller
STALE_S = 86_400.0
KEY = "style"  # of the pack inside a run; it gets a better one among the others


class RunError(StyleForgeError):
    """A run that cannot be begun, or a folder that holds none."""


@dataclass(frozen=True, slots=True)
class Point:
    """The losses at an iteration, in relative form."""

    iteration: int
    content: float
    style: float
    total: float


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run on disk. `picture` is the name of the style picture, without its ending; `flags`
    are those of the order; `iterations` how many it is to take; `history` the losses up to where
    it was last put down."""

    path: Path
    title: str
    picture: str
    flags: tuple[str, ...]
    iterations: int
    history: tuple[Point, ...] = ()

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
        save_image(self.preview_source, fit(frame, min(FRAME_SIDE, max(frame.shape[:2]))))

    def with_history(self, history: tuple[Point, ...]) -> RunFolder:
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
        write_whole(self.path / "run.json", json.dumps(values).encode())


class Runs:
    """The runs under `root`, which need not exist yet."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def begin(self, order: Order, frame: NDArray[np.uint8], scene: NDArray[np.uint8]) -> RunFolder:
        """A folder for `order`, with what the run needs of files that may move: the style
        picture, the `frame` previews are made on and the `scene` of the thumbnail, both
        (H, W, 3) uint8 RGB. RunError, and no folder, if it cannot be made."""
        try:
            picture = load_image(order.picture)
        except ValueError as exc:  # ImageError is one
            raise RunError(str(exc)) from exc
        folder = None
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            words = re.sub(r"[^a-z0-9]+", "-", order.title.casefold()).strip("-")[:32]
            folder = Path(tempfile.mkdtemp(prefix=f"{words or KEY}-", dir=self._root))
            stem = order.picture.stem
            run = RunFolder(folder, order.title, stem, order.flags(), order.preset.iterations)
            run.style_picture.parent.mkdir()
            save_image(run.style_picture, fit(picture, min(PICTURE_SIDE, max(picture.shape[:2]))))
            run.keep_frame(frame)
            save_image(run.thumbnail_source, scene)
            run.write()
        except (OSError, ValueError) as exc:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            reason = getattr(exc, "strerror", None) or exc
            raise RunError(f"the training run could not be written: {reason}") from exc
        return run

    def all(self) -> tuple[RunFolder, ...]:
        """Every run, the newest first. What is not readable is left alone."""
        if not self._root.is_dir():
            return ()
        found = []
        for path in self._root.iterdir():
            try:
                found.append((path.stat().st_mtime, read(path)))
            except (RunError, OSError):  # of another version, or just going
                continue
        return tuple(run for _, run in sorted(found, key=lambda pair: pair[0], reverse=True))

    def is_stale(self, run: RunFolder) -> bool:
        """Whether nothing came of `run` for a day: a program that died left it."""
        return not run.worth_keeping and time.time() - run.path.stat().st_mtime > STALE_S

    def throw_away(self, run: RunFolder) -> None:
        """Delete a run and everything it learned; RunError if that cannot be done."""
        if run.path.parent != self._root:
            raise RunError(f"'{run.path}' is not a training run of this library")
        try:
            shutil.rmtree(run.path)
        except FileNotFoundError:
            return
        except OSError as exc:
            raise RunError(f"the run of '{run.title}' could not be deleted: {exc}") from exc


def read(path: Path) -> RunFolder:
    """The run in the folder `path`; RunError if it holds none."""
    try:
        values: Any = json.loads((path / "run.json").read_text("utf-8"))
        if values["format"] != FORMAT:
            raise RunError(f"'{path.name}' was written by another version of StyleForge")
        title, picture, flags = values["title"], values["picture"], tuple(values["flags"])
        history = tuple(
            Point(int(n), float(content), float(style), float(total))
            for n, content, style, total in values["history"]
        )
        if not all(isinstance(text, str) for text in (title, picture, *flags)):
            raise TypeError("title, picture and flags should be text")
        return RunFolder(path, title, picture, flags, int(values["iterations"]), history)
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise RunError(f"'{path.name}' is not a training run") from exc
