"""Still pictures: one, or a strip to step through."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from app.errors import StyleForgeError
from app.frame import Frame, FrameSource, SourceInfo
from utils.images.opening import ImageError
from utils.images.reading import read_picture
from utils.text import capitalized, printable
from utils.translation.joints import clauses
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True, eq=False)
class LoadedPicture:
    """The picture at `index`.

    `note` lists content of its file besides the picture; `status` says why the ones before it were
    skipped.
    """

    index: int
    frame: Frame
    note: str
    status: str


class Pictures(FrameSource):
    """A strip of picture files; the constructor loads the first one.

    Stepping loads in the background and skips unreadable pictures, which `status` names.

    Raises:
        StyleForgeError: If no picture can be read.
    """

    live = False

    def __init__(self, paths: Sequence[Path]) -> None:
        if not paths:
            raise StyleForgeError(tr("no picture was chosen"))
        self._paths = tuple(paths)
        self._closed = threading.Event()
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._index = 0
        self._delivered = 0
        self._status = ""
        try:
            loaded = self._load(0, 1)
        except StyleForgeError:
            self.close()
            raise
        self._pending: Future[LoadedPicture] | None = Future()
        self._pending.set_result(loaded)
        self._show(loaded)

    def read(self, timeout: float = 0.02) -> Frame | None:
        if self._pending is None or self._closed.is_set():
            self._closed.wait(timeout)
            return None
        try:
            loaded = self._pending.result(timeout)
        except TimeoutError:
            return None
        self._pending = None
        self._show(loaded)
        return loaded.frame

    def step(self, count: int) -> None:
        if len(self._paths) > 1 and count:
            self._load_in_background(
                (self._index + count) % len(self._paths), 1 if count > 0 else -1
            )

    def seek(self, position: float) -> None:
        """Go to the picture with the index `position`, rounded and clamped."""
        if len(self._paths) > 1:
            self._load_in_background(round(min(max(position, 0), len(self._paths) - 1)), 1)

    def close(self) -> None:
        self._closed.set()
        self._loader.shutdown(wait=True, cancel_futures=True)

    @property
    def status(self) -> str:
        """Why a picture was skipped; empty if none was."""
        return self._status

    @property
    def position(self) -> float:
        return self._index

    def _load_in_background(self, index: int, direction: int) -> None:
        if self._closed.is_set():
            return
        if self._pending is not None:
            self._pending.cancel()  # skipped before it was loaded
        self._index = index
        self._pending = self._loader.submit(self._load, index, direction)

    def _load(self, index: int, direction: int) -> LoadedPicture:
        """Load the picture at `index`, or the next readable one in `direction`, 1 or -1."""
        fault = ""
        for offset in range(len(self._paths)):
            at = (index + offset * direction) % len(self._paths)
            start = time.perf_counter()
            try:
                picture = read_picture(self._paths[at])
            except ImageError as exc:
                fault = fault or str(exc)
                continue
            now = time.perf_counter()
            self._delivered += 1
            taken = (now - start) * 1e3
            frame = Frame(
                picture.pixels,
                self._delivered - 1,
                now,
                taken,
                alpha=picture.alpha,
                deep=picture.deep,
                origin=picture.origin,
            )
            over_white = (
                "" if picture.alpha is None else tr("transparent parts are composited over white")
            )
            note = clauses((picture.loss, over_white))
            status = tr("{fault}; skipped.", fault=capitalized(fault)) if fault else ""
            return LoadedPicture(at, frame, note, status)
        if len(self._paths) > 1:
            fault = tr(
                "none of the {n} pictures can be read: {fault}", n=len(self._paths), fault=fault
            )
        raise StyleForgeError(fault)

    def _show(self, loaded: LoadedPicture) -> None:
        self._index, self._status = loaded.index, loaded.status
        self.info = SourceInfo(
            printable(self._paths[loaded.index].name),
            loaded.frame.width,
            loaded.frame.height,
            count=len(self._paths),
            note=loaded.note,
        )
