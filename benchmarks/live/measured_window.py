"""A real window with a source of known rate, and measurements of its thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import psutil
from numpy.typing import NDArray
from PySide6.QtCore import QEventLoop, QObject, Qt, QTimer

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.frame import Frame, FrameSource, SourceInfo
from app.frame_memory import new_pixels
from app.live.session import Session
from app.settings import Settings
from app.sources.scene import render
from app.styles.catalog import Catalog
from app.ui.main_window import MainWindow


class Metronome(FrameSource):
    """The scene at a fixed rate; `read` returns only the newest frame.

    A gap between two indices means dropped frames. The frames are in the same kind of memory as the
    frames that the thread of a camera or video decodes.
    """

    kind = "source"

    def __init__(self, fps: float, width: int = 640, height: int = 480) -> None:
        self.info = SourceInfo("metronome", width, height, fps)
        self._frames = [render(t, width, height) for t in np.linspace(0, 10, 24)]
        self._moved: dict[int, NDArray[np.uint8]] = {}
        self._fps = fps
        self._start = time.perf_counter()
        self._last = -1

    def read(self, timeout: float = 0.02) -> Frame | None:
        """Return the frame that is due, waiting at most `timeout` seconds."""
        due = self._start + (self._last + 1) / self._fps
        wait = due - time.perf_counter()
        if wait > 0:
            time.sleep(min(wait, timeout))
        index = int((time.perf_counter() - self._start) * self._fps)
        if index <= self._last:
            return None
        self._last = index
        return Frame(
            self._pixels(index % len(self._frames)), index, self._start + index / self._fps
        )

    def _pixels(self, number: int) -> NDArray[np.uint8]:
        """Return a rendered frame, moved when first read: then the engine knows its device."""
        pixels = self._moved.get(number)
        if pixels is None:
            rendered = self._frames[number]
            pixels = self._moved[number] = new_pixels(*rendered.shape[:2])
            np.copyto(pixels, rendered)
        return pixels

    def close(self) -> None:
        self._frames = []
        self._moved = {}


class Heartbeat(QObject):
    """A timer that ticks every 5 ms; `gaps` lists the delays of its ticks in milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self, interval=5, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self.start()

    def start(self) -> None:
        """Restart with an empty list."""
        self.gaps: list[float] = []
        self._last = time.perf_counter()
        self._timer.start()

    def _beat(self) -> None:
        now = time.perf_counter()
        self.gaps.append((now - self._last) * 1e3 - 5)
        self._last = now


@contextmanager
def window(
    config: EngineConfig,
    engine: type[Engine],
    fps: float,
    size: tuple[int, int] = (640, 480),
    catalog: Catalog | None = None,
) -> Iterator[MainWindow]:
    """Open a real window that streams `fps` frames a second of `size` (width, height)."""
    catalog = catalog or Catalog.default()
    session = Session(catalog, config, engine=engine(catalog))
    # Hovering must not change the measured style.
    settings = Settings(style=config.style, source="", try_styles=False)
    shown = MainWindow(session, settings, lambda _: None)
    shown.resize(1280, 800)
    shown.show()
    session.play(Metronome(fps, *size))
    try:
        yield shown
    finally:
        shown.close()
        session.shutdown()


def resident_mb() -> float:
    """Return the resident memory of this process in MB."""
    return psutil.Process().memory_info().rss / 1e6


def wait(until: Callable[[], bool], seconds: float) -> bool:
    """Run the event loop until `until()` is true or `seconds` pass; return whether it is true."""
    loop = QEventLoop()
    deadline = time.perf_counter() + seconds
    poll = QTimer(interval=20)
    poll.timeout.connect(lambda: loop.quit() if until() or time.perf_counter() > deadline else None)
    poll.start()
    loop.exec()
    poll.stop()
    return until()
