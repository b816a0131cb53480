"""Startup time of the program, and speed of the engine alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from statistics import median

import numpy as np

import app
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.frame import Frame
from app.sources.scene import render
from app.styles.catalog import Catalog


def engine_fps(frames: int = 60) -> dict[str, float]:
    """Return the frames per second of the engine alone at 320x240, for each network."""
    rates = {}
    for network in ("full", "lite"):
        engine = Engine(Catalog.default())
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
