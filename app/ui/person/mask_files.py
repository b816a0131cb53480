"""Writes the masks of the brush on another thread, so that a stroke never waits for the disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

from app.engine.matting.brushing import Mask
from app.engine.matting.masks import drop_mask, hold_mask, masks_folder, write_mask
from app.errors import Problem
from app.live.session import Session

DRAFTS = 8  # of a drag that goes on; the engine reads only the newest


class MaskFiles:
    """The files of the masks, written one after another; closing the window waits for them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._drafts: deque[Path] = deque()
        self._waiting: deque[tuple[Path, Callable[[Problem], object]]] = deque()
        self._under_way = False

    def draft(self, mask: Mask) -> Path:
        """Return the name of a mask that stays in memory, until DRAFTS newer ones follow."""
        self._drafts.append(hold_mask(mask, masks_folder()))
        if len(self._drafts) > DRAFTS:
            drop_mask(self._drafts.popleft())
        return self._drafts[-1]

    def keep(self, mask: Mask, failed: Callable[[Problem], object]) -> Path:
        """Begin to write a mask, and return its file; `failed` is called on the GUI thread."""
        path = hold_mask(mask, masks_folder())
        self._waiting.append((path, failed))
        if not self._under_way:
            self._write_next()
        return path

    def _write_next(self) -> None:
        self._under_way = bool(self._waiting)
        if not self._waiting:
            return
        path, failed = self._waiting.popleft()

        def work() -> Problem | None:
            try:
                write_mask(path)
            except OSError as exc:
                return Problem.of(exc, failure="Could not keep the painted mask")
            return None

        def done(problem: Problem | None) -> None:
            if problem is not None:
                failed(problem)
            self._write_next()

        self._session.write(work, done, failure="Could not keep the painted mask")
