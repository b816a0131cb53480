"""The user's own picture on every card: duration and cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.live.previews.budget import StreamBudget
from app.live.previews.painter import Preview
from app.sources.scene import render
from benchmarks.live.measured_window import Heartbeat, wait, window
from utils.images.writing import write_pixels

PICTURE = (1280, 720)
MOST_S = 60.0  # for all cards of a picture


@dataclass(frozen=True, slots=True)
class Gallery:
    """Painted cards, of an open picture and alongside a stream.

    `filled_s` is the time from opening a picture until every card shows it; `blocked_ms` is the
    longest time the GUI thread was blocked meanwhile. Alongside a stream of 60 frames a second,
    `streamed` cards took the fraction `share` of `seconds`.
    """

    cards: int
    filled_s: float
    blocked_ms: float
    seconds: float
    streamed: int
    share: float
    stream_blocked_ms: float


def gallery(seconds: float = 120.0) -> Gallery:
    """Measure how the gallery fills, also alongside a stream for `seconds`.

    Raises:
        RuntimeError: If a card was not painted in time.
    """
    made: list[str] = []

    def note(preview: Preview) -> None:
        made.append(preview.style)

    with TemporaryDirectory() as folder, _spent() as spent:
        path = Path(folder) / "picture.png"
        write_pixels(path, render(0.0, *PICTURE))
        with window(EngineConfig(size=128), Engine, 60) as shown:
            shown.session.previews.made.connect(note)
            wait(lambda: shown.viewport.styled is not None, 20)
            heartbeat, began = Heartbeat(), time.perf_counter()
            wait(lambda: False, seconds)
            streamed, lasted = len(made), time.perf_counter() - began
            share, beside = sum(spent) / lasted, max(heartbeat.gaps)
            cards = set(shown.gallery.keys)
            made.clear()
            heartbeat.start()
            began = time.perf_counter()
            shown.session.open(str(path))
            if not wait(lambda: cards <= set(made), MOST_S):
                left = sorted(cards - set(made))
                raise RuntimeError(f"not painted within {MOST_S:.0f} s: {left}")
            filled, alone = time.perf_counter() - began, max(heartbeat.gaps)
    return Gallery(len(cards), filled, alone, lasted, streamed, share, beside)


@contextmanager
def _spent() -> Iterator[list[float]]:
    """Yield a list of the seconds that each preview takes from the engine's thread."""
    took: list[float] = []
    spend = StreamBudget.spend

    def note(self: StreamBudget, ended: float, seconds: float) -> None:
        took.append(seconds)
        spend(self, ended, seconds)

    StreamBudget.spend = note
    try:
        yield took
    finally:
        StreamBudget.spend = spend
