"""Measurements of streams in the window: ages, memory, config changes, the automatic size."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import numpy as np

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.inferred import Inferred
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.frame import Frame
from app.settings import Settings
from benchmarks.live.measured_window import Heartbeat, resident_mb, wait, window
from kernels.jit.build import toolchain
from models.precision import Precision

SLOWED_MS = 200.0


class SlowEngine(Engine):
    """An engine that takes at least `SLOWED_MS` per frame."""

    def infer(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> Inferred:
        """Run the network, then sleep until `SLOWED_MS` have passed."""
        start = time.perf_counter()
        inferred = super().infer(frame, mode)
        time.sleep(max(0.0, SLOWED_MS / 1e3 - (time.perf_counter() - start)))
        return inferred

    def begin(
        self,
        frame: Frame,
        mode: ProcessMode = ProcessMode.LIVE,
        newest: EngineConfig | None = None,
        screen: tuple[int, int] | None = None,
    ) -> None:
        """Do nothing, so that every frame goes through `infer`."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """60 frames per second into an engine slowed down to 200 ms per frame.

    The age of the picture on screen counts from capture, in milliseconds and in engine frames:
    when it is painted (`shown`), and just before the next one replaces it (`replaced`).
    `blocked_ms` is the longest time the GUI thread was blocked.
    """

    pictures: int
    engine_frame_ms: float
    shown_age_max_ms: float
    shown_age_max_engine_frames: float
    replaced_age_max_ms: float
    replaced_age_max_engine_frames: float
    blocked_ms: float
    blocked_p99_ms: float


@dataclass(frozen=True, slots=True)
class Growth:
    """Resident memory in MB before a number of frames, after half of them and after all."""

    frames: int
    first_mb: float
    half_mb: float
    last_mb: float


@dataclass(frozen=True, slots=True)
class Automatic:
    """The automatic size for 640x480: its changes, and the time from capture to paint."""

    size: tuple[int, int]
    budget_ms: float
    latency_median_ms: float
    latency_p95_ms: float
    fps: float
    changes_first_20_s: int
    changes_next_60_s: int
    changes_a_minute_beside_compiler: int


def streaming(seconds: float = 20.0) -> Streaming:
    """Measure the age of the displayed picture with an engine much slower than the source."""
    with window(EngineConfig(size=128), SlowEngine, 60) as opened:
        painted: list[tuple[float, float]] = []  # (when, captured at)
        opened.session.painted.connect(
            lambda styled: painted.append((time.perf_counter(), styled.source.captured_at))
        )
        wait(lambda: len(painted) >= 5, 20)
        painted.clear()
        heartbeat = Heartbeat()
        wait(lambda: False, seconds)
        shown = [(at - captured) * 1e3 for at, captured in painted]
        ages = [(b[0] - a[1]) * 1e3 for a, b in pairwise(painted)]
        each = [(b[0] - a[0]) * 1e3 for a, b in pairwise(painted)]
        frame = median(each)
        return Streaming(
            len(painted),
            frame,
            max(shown),
            max(shown) / frame,
            max(ages),
            max(ages) / frame,
            max(heartbeat.gaps),
            float(np.percentile(heartbeat.gaps, 99)),
        )


def growth(frames: int = 20_000) -> Growth:
    """Measure memory growth over `frames` styled frames, after the first hundred."""
    with window(EngineConfig(size=32), Engine, 1000) as shown:
        seen = 0

        def count(_: object) -> None:
            nonlocal seen
            seen += 1

        shown.session.styled.connect(count)
        wait(lambda: seen >= 100, 60)
        first, begun = resident_mb(), seen
        wait(lambda: seen >= begun + frames // 2, 450)
        half = resident_mb()
        wait(lambda: seen >= begun + frames, 450)
        return Growth(seen - begun, first, half, resident_mb())


def switching() -> dict[str, int]:
    """Count the frames styled with the old config after each kind of change, while streaming."""
    result: dict[str, int] = {}
    config = EngineConfig(size=128)
    with window(config, Engine, 60) as shown:
        session = shown.session
        seen: list[EngineConfig] = []
        session.styled.connect(lambda styled: seen.append(styled.config))
        made: list[EngineConfig] = []
        finish = session.engine.finish

        def note(inferred: Inferred, newest: EngineConfig | None = None) -> StyledFrame:
            styled = finish(inferred, newest)
            made.append(styled.config)
            return styled

        session.engine.finish = note  # type: ignore[method-assign]
        wait(lambda: len(seen) > 5, 20)
        changes = {"kernels": "baseline", "precision": Precision.bf16, "strength": 0.5}
        if len(session.catalog.styles) > 1:
            changes["style"] = session.catalog.styles[1].key
        for name, value in changes.items():
            made.clear()
            wanted = session.config = replace(session.config, **{name: value})
            wait(lambda wanted=wanted: wanted in made, 20)
            result[name] = made.index(wanted)
    return result


def automatic() -> Automatic:
    """Measure which size the automatic choice reaches, and whether it stays."""
    budget = Settings().budget_ms
    with window(EngineConfig(size=None), Engine, 30) as shown:
        sizes: list[tuple[float, tuple[int, int]]] = []
        shown.session.styled.connect(lambda s: sizes.append((time.perf_counter(), s.size)))
        wait(lambda: bool(sizes), 20)
        began = sizes[0][0]
        wait(lambda: False, 80)
        reading = shown.session.metrics.stats(time.perf_counter())
        size, quiet = sizes[-1][1], _changes(sizes)
        with compiling():
            beside = time.perf_counter()
            wait(lambda: False, 60)
        busy = [at for at in _changes(sizes) if at >= beside]
        return Automatic(
            size,
            budget,
            reading.latency_ms,
            reading.latency_p95_ms,
            reading.displayed_fps,
            sum(at < began + 20 for at in quiet),
            sum(at >= began + 20 for at in quiet),
            len(busy),
        )


def _changes(sizes: list[tuple[float, tuple[int, int]]]) -> list[float]:
    return [later[0] for now, later in pairwise(sizes) if now[1] != later[1]]


@contextmanager
def compiling() -> Iterator[None]:
    """Run a C++ compiler in a loop in the background."""
    command = [toolchain().compiler, "-O3", "-c", "-x", "c++", "-", "-o", os.devnull]
    source = (
        "#include <regex>\nauto f(const char* s) { return std::regex_match(s, std::regex(s)); }"
    )
    done = threading.Event()

    def compile_again() -> None:
        while not done.is_set():
            subprocess.run(command, input=source, text=True, check=True)

    thread = threading.Thread(target=compile_again)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
