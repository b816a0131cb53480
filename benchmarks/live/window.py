"""Measures how many frames a second the real window styles, from a source that never blocks.

It also measures how long a picture takes to become a style.
`python -m benchmarks.live.window FILE` stores the results as JSON. Without a display, the window
is rendered offscreen.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.result import StyledFrame
from app.sources.scene import render
from app.styles.catalog import BUILTIN, Catalog
from benchmarks.live.measured_window import wait, window
from benchmarks.live.program import Say, run
from kernels.table.registry import STYLE, TRANSFORMER
from models.precision import Precision
from utils.devices import resolve
from utils.images.writing import write_pixels

SOURCE_FPS = 1000.0
PICTURES, PICTURE_SIZE = 4, (1600, 1200)  # become styles one after another
WARM_UP_S, SECONDS = 2.0, 3.0
MIXED: dict[str, Any] = {"strength": 0.6, "keep_colors": True}
SMALLER: dict[str, Any] = {"size": 640, "upsampling": "smooth"}
GUIDED: dict[str, Any] = {"size": 640, "upsampling": "guided"}
CASES: tuple[tuple[str, tuple[int, int], dict[str, Any]], ...] = (
    ("plain", (1280, 720), {}),
    ("strength", (1280, 720), {"strength": 0.6}),
    ("keep colors", (1280, 720), {"keep_colors": True}),
    ("smoothing", (1280, 720), {"smoothing": 0.5}),
    ("input of 640", (1280, 720), SMALLER),
    ("input of 640, sharpened to the frame", (1280, 720), GUIDED),
    ("texture", (1280, 720), {"texture": 0.5}),
    ("all four", (1280, 720), {**MIXED, "smoothing": 0.5, **GUIDED}),
    ("plain", (1920, 1080), {}),
)


@dataclass(frozen=True, slots=True)
class Streamed:
    """A stream of frames through the window.

    Attributes:
        size: (width, height) of the frames.
        latency_ms: Median time from capture to paint.
        latency_p95_ms: Its 95th percentile.
        deliver_ms: Mean part of that time in which the result waits for the window.
        engine_frames: The median latency in engine frames: `latency_ms` over `timings.engine`.
        timings: Mean milliseconds per stage.
    """

    controls: str
    size: tuple[int, int]
    running: str
    processed_fps: float
    displayed_fps: float
    latency_ms: float
    latency_p95_ms: float
    deliver_ms: float
    paint_ms: float
    engine_frames: float
    timings: dict[str, Any]


def streamed(name: str, size: tuple[int, int], chosen: dict[str, Any]) -> Streamed:
    """Measure one case; `size` is the frames' (width, height)."""
    half = Precision.fp16 if resolve("auto").type == "cuda" else Precision.fp32
    given = {"size": size[0], "texture": 0.0, **chosen}
    config = EngineConfig(style="candy", network="full", precision=half, **given)
    return stream(name, size, config, SOURCE_FPS, SECONDS)


def stream(
    name: str, size: tuple[int, int], config: EngineConfig, fps: float, seconds: float
) -> Streamed:
    """Measure a stream of `fps` frames a second in the window, after WARM_UP_S."""
    newest: list[StyledFrame] = []
    with window(config, Engine, fps, size) as opened:
        opened.session.styled.connect(lambda styled: newest.__setitem__(slice(None), [styled]))
        wait(lambda: bool(newest), 60)
        wait(lambda: False, WARM_UP_S + seconds)
        reading = opened.session.metrics.stats(time.perf_counter())
    return Streamed(
        name,
        size,
        str(newest[-1].running),
        reading.processed_fps,
        reading.displayed_fps,
        reading.latency_ms,
        reading.latency_p95_ms,
        reading.deliver_ms,
        reading.paint_ms,
        reading.latency_ms / reading.timings.engine,
        asdict(reading.timings),
    )


def dropped(catalog: Catalog, folder: Path) -> list[float]:
    """Return the seconds from dropping a picture on the gallery to a frame in its style.

    The first picture waits for reading the network, but not for kernels and libraries: the
    window loads these in the background at startup.

    Raises:
        RuntimeError: If a picture does not become a style within a minute.
    """
    half = Precision.fp16 if resolve("auto").type == "cuda" else Precision.fp32
    config = EngineConfig(style="candy", network="auto", precision=half)
    painted: set[str] = set()
    seconds: list[float] = []
    with window(config, Engine, 30.0, (1280, 720), catalog) as opened:
        session = opened.session
        session.styled.connect(lambda styled: painted.add(styled.config.style))
        prepared: list[object] = []
        session.kernels_changed.connect(prepared.append)
        session.prepare_kernels((STYLE, TRANSFORMER))
        wait(lambda: bool(painted) and len(prepared) == 2, 60)
        for number in range(PICTURES):
            path = folder / f"picture{number}.png"
            write_pixels(path, render(float(number), *PICTURE_SIZE))
            began = time.perf_counter()
            session.user_styles.install_picture(path)
            if not wait(lambda key=path.stem: key in painted, 60):
                raise RuntimeError(f"{path.name} did not become a style in a minute")
            seconds.append(time.perf_counter() - began)
    return seconds


def dropped_in_a_fresh_folder() -> list[float]:
    """Return `dropped` for the shipped networks; an empty list if none ship."""
    with tempfile.TemporaryDirectory() as folder:
        catalog = Catalog(BUILTIN, Path(folder) / "styles")
        return [] if catalog.networks.unavailable_reason else dropped(catalog, Path(folder))


def measure(say: Say) -> list[dict[str, Any]]:
    results = []
    streamed(*CASES[0])  # not counted: the first stream of a program includes startup work
    for case in CASES:
        found = streamed(*case)
        say(
            f"{found.size[0]}x{found.size[1]}, {found.controls}: {found.processed_fps:.0f} frames "
            f"a second, {found.latency_ms:.2f} ms from capture to paint"
        )
        results.append(asdict(found))
    return results


def report(say: Say) -> dict[str, Any]:
    """Return the sections of the report."""
    return {
        "source_fps": SOURCE_FPS,
        "window": measure(say),
        "dropped_s": dropped_in_a_fresh_folder(),
    }


if __name__ == "__main__":
    sys.exit(run("python -m benchmarks.live.window", (STYLE, TRANSFORMER), report))
