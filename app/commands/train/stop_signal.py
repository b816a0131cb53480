"""How a training run is stopped from outside, and the picture for its previews."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.training.run import fit
from utils.images.opening import ImageError
from utils.images.reading import read_pixels


@contextmanager
def stop_requested() -> Iterator[threading.Event]:
    """Yield an event that is set by SIGINT or SIGTERM, so that the current step is completed.

    A second signal raises KeyboardInterrupt at once.
    """
    asked = threading.Event()

    def ask(signum: int, frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt_on_stdin() -> None:
    """Treat the first line on stdin, or its end, as Ctrl+C.

    The program that started this process can stop it this way on every system; it also stops when
    that program is killed.
    """

    def wait() -> None:
        sys.stdin.readline()
        _thread.interrupt_main(signal.SIGINT)

    threading.Thread(target=wait, name="stdin", daemon=True).start()


class PreviewImage:
    """The picture for previews: read from a file again whenever it changes, or `otherwise`.

    Raises ImageError if the file cannot be read the first time.
    """

    def __init__(self, path: Path | None, otherwise: NDArray[np.uint8], long_side: int) -> None:
        self._path, self._side = path, long_side
        self._stamp = self._stamped()
        self._picture = self._fit(read_pixels(path) if path else otherwise)

    def __call__(self) -> NDArray[np.uint8]:
        """Return the picture as [H, W, 3] uint8 RGB, at most `long_side` pixels long."""
        stamp = self._stamped()
        if self._path is not None and stamp != self._stamp:
            try:
                self._picture = self._fit(read_pixels(self._path))
            except ImageError:
                return self._picture  # missing or being replaced; the next preview tries again
            self._stamp = stamp
        return self._picture

    def _stamped(self) -> tuple[int, int]:
        try:
            stat = self._path.stat() if self._path else None
        except OSError:
            return (0, 0)  # reading it will raise the error
        return (stat.st_mtime_ns, stat.st_size) if stat else (0, 0)

    def _fit(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return fit(picture, min(self._side, max(picture.shape[:2])))
