"""Measures a fluid stream in the window: how often it paints, how much it shows, how old that is.

`python -m benchmarks.live.moving_stream FILE` plays a film of 1280x720 at 30 frames a second, such
as a camera in a hand makes it, beside a network that paints far fewer. Without a display, the
window is rendered offscreen.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.live.stream_metrics import StreamStats
from app.sources.scene import render
from benchmarks.live.measured_window import wait, window
from benchmarks.live.program import Say, run
from kernels.table.registry import STYLE
from utils.opencv import cv2

FPS, FRAME, SIZE = 30.0, (1280, 720), 320  # SIZE is the long side of the network's input
FILM_S, WARM_UP_S, SECONDS = 15.0, 12.0, 10
NOISE = 3.0  # levels, the standard deviation in each pixel
MARGIN = 110  # pixels around the frame, into which the hand moves it
NETWORKS = ("full", "lite")


def frames() -> Iterator[NDArray[np.uint8]]:
    """Yield the film's frames, [H, W, 3]: a picture of the scene, moved by a hand, with noise."""
    width, height = FRAME
    picture = render(3.0, width + 2 * MARGIN, height + 2 * MARGIN).astype(np.int16)
    noise = np.random.default_rng(0)
    for number in range(int(FILM_S * FPS)):
        t = number / FPS
        left = MARGIN + round(50 * math.sin(0.9 * t) + 8 * math.sin(5 * t))
        top = MARGIN + round(35 * math.sin(0.7 * t + 1) + 5 * math.sin(6 * t))
        seen = picture[top : top + height, left : left + width]
        made = seen + noise.normal(0, NOISE, seen.shape).astype(np.int16)
        yield np.clip(made, 0, 255).astype(np.uint8)


def write_film(path: Path) -> None:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), FPS, FRAME)
    try:
        for pixels in frames():
            writer.write(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
    finally:
        writer.release()


def measure(film: Path, say: Say) -> list[dict[str, Any]]:
    """Return a row for each network: medians of SECONDS readings, one a second."""
    rows: list[dict[str, Any]] = []
    for network in NETWORKS:
        config = EngineConfig(style="candy", network=network, size=SIZE, device="cpu", fluid=True)
        readings: list[StreamStats] = []
        with window(config, Engine, FPS, FRAME) as opened:
            opened.session.open(str(film))
            wait(lambda: False, WARM_UP_S)
            for _ in range(SECONDS):
                wait(lambda: False, 1.0)
                readings.append(opened.session.metrics.stats(time.perf_counter()))
        row = {
            name: median(getattr(each, name) for each in readings)
            for name in ("painted_fps", "displayed_fps", "latency_ms", "latency_p95_ms")
        }
        motion = median(each.timings.motion for each in readings)
        rows.append({"network": network, "size": SIZE, **row, "motion_ms": motion})
        say(f"{network}: paints {row['painted_fps']:.1f}, shows {row['displayed_fps']:.1f}")
    return rows


def report(say: Say) -> Mapping[str, Any]:
    """Return the sections of the report."""
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "hand.mp4"
        write_film(film)
        return {"source_fps": FPS, "frame": FRAME, "moving_stream": measure(film, say)}


if __name__ == "__main__":
    sys.exit(run("python -m benchmarks.live.moving_stream", (STYLE,), report))
