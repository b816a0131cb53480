"""Still pictures: one, or a strip to step through."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from app.frames import Frame, FrameSource, SourceInfo
from app.problems import StyleForgeError
from utils.image_utils import ImageError, load_image


class Pictures(FrameSource):
    """Pictures by path, the first one loaded when constructed.

    Stepping loads the next in the background. One that cannot be read is skipped in the
    direction of the step, `status` says which and why. Raises StyleForgeError where none can be.
    """

    live = False

    def __init__(self, paths: Sequence[Path]) -> None:
        if not paths:
            raise StyleForgeError("no picture was chosen")
        self._paths = tuple(paths)
        self._closed = threading.Event()
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._wanted = 0
        self._delivered = 0
        self._status = ""
        try:
            index, frame, self._status = self._load(0, 1)
        except StyleForgeError:
            self.close()
            raise
        self._pending: Future[tuple[int, Frame, str]] | None = Future()
        self._pending.set_result((index, frame, self._status))
        self._show(index, frame)

    def read(self, timeout: float = 0.02) -> Frame | None:
        if self._pending is None or self._closed.is_set():
            self._closed.wait(timeout)
            return None
        try:
            index, frame, status = self._pending.result(timeout)
        except TimeoutError:
            return None
        self._pending = None
        self._status = status
        self._show(index, frame)
        return frame

    def step(self, count: int) -> None:
        if len(self._paths) > 1 and count:
            self._go((self._wanted + count) % len(self._paths), 1 if count > 0 else -1)

    def seek(self, position: float) -> None:
        if len(self._paths) > 1:
            self._go(round(min(max(position, 0), len(self._paths) - 1)), 1)

    def close(self) -> None:
        self._closed.set()
        self._loader.shutdown(wait=True, cancel_futures=True)

    @property
    def status(self) -> str:
        return self._status

    @property
    def position(self) -> float:
        return self._wanted

    def _go(self, index: int, direction: int) -> None:
        if self._closed.is_set():
            return
        if self._pending is not None:
            self._pending.cancel()  # stepped over before it was even begun
        self._wanted = index
        self._pending = self._loader.submit(self._load, index, direction)

    def _load(self, index: int, direction: int) -> tuple[int, Frame, str]:
        """The picture at `index` or the next good one from there, and what was wrong before it."""
        fault = ""
        for offset in range(len(self._paths)):
            at = (index + offset * direction) % len(self._paths)
            start = time.perf_counter()
            try:
                pixels = load_image(self._paths[at])
            except ImageError as exc:
                fault = fault or str(exc)
                continue
            now = time.perf_counter()
            self._delivered += 1
            frame = Frame(pixels, self._delivered - 1, now, (now - start) * 1e3)
            return at, frame, f"{fault[0].upper()}{fault[1:]}; skipped." if fault else ""
        if len(self._paths) > 1:
            fault = f"none of the {len(self._paths)} pictures can be read: {fault}"
        raise StyleForgeError(fault)

    def _show(self, index: int, frame: Frame) -> None:
        self._wanted = index
        self.info = SourceInfo(
            self._paths[index].name, frame.width, frame.height, count=len(self._paths)
        )
