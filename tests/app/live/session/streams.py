"""Sources that deliver frames like a camera or a picture, and a wait for results."""

from __future__ import annotations

import threading
import time
from typing import TypeVar

from app.frame import Frame, FrameSource, SourceInfo
from app.live.session import Session
from tests.conftest import picture


class Clockwork(FrameSource):
    """A source of frames at a fixed rate that delivers only the newest one, as a camera does."""

    kind = "camera"

    def __init__(self, fps: float = 60, width: int = 64, height: int = 48) -> None:
        self.info = SourceInfo("clockwork", width, height, fps)
        self._pixels = [picture(width, height, seed) for seed in range(8)]
        self._fps = fps
        self._start = time.perf_counter()
        self._last = -1
        self._paused = False
        self.threads: set[int] = set()
        self.closed_on: list[int] = []

    def read(self, timeout: float = 0.02) -> Frame | None:
        self.threads.add(threading.get_ident())
        deadline = time.perf_counter() + timeout
        while (now := time.perf_counter()) < deadline:
            index = int((now - self._start) * self._fps)
            if index > self._last and not self._paused:
                self._last = index
                return Frame(self._pixels[index % 8], index, self._start + index / self._fps)
            time.sleep(0.001)
        return None

    def pause(self, paused: bool) -> None:
        self._paused = paused

    def close(self) -> None:
        self.closed_on.append(threading.get_ident())


class Still(Clockwork):
    """A source of one picture, delivered once."""

    live = False

    def read(self, timeout: float = 0.02) -> Frame | None:
        if self._last < 0:
            self._last = 0
            return Frame(self._pixels[0])
        time.sleep(timeout)
        return None


S = TypeVar("S", bound=FrameSource)


def give(session: Session, source: S) -> S:
    session.play(source)
    return source


def styled_with(qtbot, session, **wanted):
    """Wait for the first result whose config has `wanted` and return it."""

    def matches(result):
        return all(getattr(result.config, k) == v for k, v in wanted.items())

    with qtbot.waitSignal(session.styled, timeout=10_000, check_params_cb=matches) as blocker:
        pass
    return blocker.args[0]
