"""Measures the live pipeline with the real window: age, responsiveness, memory, switching, startup.

`python -m app.ui.live_benchmark FILE` stores the results as JSON. Without a display, the window is
rendered offscreen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import psutil
from numpy.typing import NDArray
from PySide6.QtCore import QEventLoop, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

import app
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.inferred import Inferred
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.frame import Frame, FrameSource, SourceInfo
from app.frame_memory import new_pixels
from app.live.session import Session
from app.provenance import report_header
from app.settings import Settings
from app.sources.scene import render
from app.styles.library import Library
from app.ui.main_window import MainWindow
from kernels.jit.build import toolchain
from kernels.ops.registry import STYLE, prepare
from models.precision import Precision
from utils.devices import resolve
from utils.files.atomic import atomic_write
from utils.system import has_display

SLOWED_MS = 200.0


class Metronome(FrameSource):
    """The scene at a fixed rate; only the newest frame is delivered, index gaps are drops.

    Its frames lie where a camera's or a video's thread decodes them to.
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
        """A rendered frame; it is moved when it is first read, since the engine knows its device by
        then."""
        pixels = self._moved.get(number)
        if pixels is None:
            rendered = self._frames[number]
            pixels = self._moved[number] = new_pixels(*rendered.shape[:2])
            np.copyto(pixels, rendered)
        return pixels

    def close(self) -> None:
        """Release the rendered frames."""
        self._frames = []
        self._moved = {}


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
        """Have every frame go through `infer`."""


class Heartbeat(QObject):
    """A timer with an interval of 5 ms; `gaps` are the delays of its ticks in milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer(self, interval=5, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def _beat(self) -> None:
        now = time.perf_counter()
        self.gaps.append((now - self._last) * 1e3 - 5)
        self._last = now


@dataclass(frozen=True, slots=True)
class Streaming:
    """60 frames per second into an engine slowed down to 200 ms per frame.

    Ages of the picture on screen are measured from capture, in milliseconds and in engine frames:
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
    """Resident memory in MB before and after a number of frames."""

    frames: int
    first_mb: float
    last_mb: float
    grown_mb: float


@dataclass(frozen=True, slots=True)
class Automatic:
    """The automatic size for 640x480: its changes, and the capture-to-paint time."""

    size: tuple[int, int]
    budget_ms: float
    latency_median_ms: float
    latency_p95_ms: float
    fps: float
    changes_first_20_s: int
    changes_next_60_s: int
    changes_a_minute_beside_compiler: int


@contextmanager
def window(
    config: EngineConfig,
    engine: type[Engine],
    fps: float,
    size: tuple[int, int] = (640, 480),
    library: Library | None = None,
) -> Iterator[MainWindow]:
    """Open a real window that streams `fps` frames a second of `size` (width, height)."""
    library = library or Library.default()
    session = Session(library, config, engine=engine(library))
    # Wherever the pointer rests, the style that is measured is the chosen one.
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
    """Resident memory of this process in MB."""
    return psutil.Process().memory_info().rss / 1e6


def wait(until: Callable[[], bool], seconds: float) -> bool:
    """Run the event loop until `until()` is true, at most `seconds`; returns whether it is."""
    loop = QEventLoop()
    deadline = time.perf_counter() + seconds
    poll = QTimer(interval=20)
    poll.timeout.connect(lambda: loop.quit() if until() or time.perf_counter() > deadline else None)
    poll.start()
    loop.exec()
    poll.stop()
    return until()


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


def growth(frames: int = 3000) -> Growth:
    """Measure the memory growth over `frames` styled frames, after the first hundred."""
    with window(EngineConfig(size=32), Engine, 1000) as shown:
        seen = 0

        def count(_: object) -> None:
            nonlocal seen
            seen += 1

        shown.session.styled.connect(count)
        wait(lambda: seen >= 100, 60)
        first, begun = resident_mb(), seen
        wait(lambda: seen >= begun + frames, 300)
        last = resident_mb()
        return Growth(seen - begun, first, last, last - first)


def switching() -> dict[str, int]:
    """Count the frames made with the old config after each kind of change, while streaming."""
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
        if len(session.library.styles) > 1:
            changes["style"] = session.library.styles[1].key
        for name, value in changes.items():
            made.clear()
            wanted = session.config = replace(session.config, **{name: value})
            wait(lambda wanted=wanted: wanted in made, 20)
            result[name] = made.index(wanted)
    return result


def automatic() -> Automatic:
    """Measure which size the automatic choice settles on, and whether it stays."""
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
    """Return the times at which the size changed."""
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


def engine_fps(frames: int = 60) -> dict[str, float]:
    """Return the frames per second of the engine alone at 320x240, for each network."""
    rates = {}
    for network in ("full", "lite"):
        engine = Engine(Library.default())
        engine.configure(EngineConfig(device="cpu", network=network, size=320))
        pictures = [render(t, 320, 240) for t in np.linspace(0, 10, 8)]
        ticks = []
        for index in range(frames):
            engine.process(Frame(pictures[index % len(pictures)], index, time.perf_counter()))
            ticks.append(time.perf_counter())
        # The first frames warm up.
        rates[network] = 1 / median(later - now for now, later in pairwise(ticks[5:]))
    return rates


def start(runs: int = 3) -> list[float]:
    """Return the seconds from program start to the first styled picture, for each run."""
    command = [sys.executable, "-m", app.__name__, "--source", "scene", "--pictures", "1"]
    seconds = []
    with tempfile.TemporaryDirectory() as folder:  # keeps the user's settings unchanged
        environment = {**os.environ, "XDG_CONFIG_HOME": folder}
        for _ in range(runs + 1):  # the first run warms up the disk and kernel caches
            finished = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            )
            seconds.append(float(finished.stdout.split()[-2]))  # "... after 3.21 s"
    return seconds[1:]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything and store it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m app.ui.live_benchmark")
    parser.add_argument("file", type=Path, help="store the figures here, as JSON")
    path: Path = parser.parse_args(argv).file
    if not has_display():
        sys.stderr.write("There is no display; the window is painted into memory instead\n")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"  # for this window and those of child processes
    prepare(family=STYLE)
    report = {
        **report_header(resolve("auto"), Library.default().styles),
        "live": measure(lambda text: sys.stderr.write(f"{text}\n")),
    }
    atomic_write(path, (json.dumps(report, indent=2) + "\n").encode())
    return 0


def measure(say: Callable[[str], object]) -> dict[str, object]:
    """Run every measurement; returns JSON-serializable values."""
    _application = QApplication.instance() or QApplication([])
    results: dict[str, object] = {}
    for name, work in (
        ("start_seconds", start),
        ("slow_engine", streaming),
        ("growth", growth),
        ("switching_frames", switching),
        ("automatic_size", automatic),
        ("engine_fps", engine_fps),
    ):
        say(f"measuring {name.replace('_', ' ')}")
        value = work()
        results[name] = (
            asdict(value) if isinstance(value, Streaming | Growth | Automatic) else value
        )
    return results


if __name__ == "__main__":
    sys.exit(main())
