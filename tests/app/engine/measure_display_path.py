"""Benchmark of the engine on a GPU: frames that stay there against OpenCV around the network.

    python -m tests.app.engine.measure_display_path

Renders the animated scene at 1280x720 and 1920x1080 in FP16 with several controls. Prints the
frames per second of `Engine.process`, which runs frame after frame, the median milliseconds of its
stages, and the frames per second of `Engine.begin` and `complete`, which overlap frames.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any
from unittest.mock import patch

import torch

from app.engine import display_path
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.engine.result import Timings
from app.frame import Frame
from app.sources.scene import render
from app.styles.catalog import Catalog
from kernels.table.registry import prepare
from models.precision import Precision

SIZES = (1280, 720), (1920, 1080)
CONTROLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strength, keep colors": {"strength": 0.6, "keep_colors": True},
    "smoothing": {"smoothing": 0.5},
    "input of 640": {"size": 640, "upsampling": "smooth"},
    "input of 640, guided": {"size": 640, "upsampling": "guided"},
    "all of them": {
        **{"strength": 0.6, "keep_colors": True, "smoothing": 0.5},
        **{"size": 640, "upsampling": "guided"},
    },
}
FRAMES, WARM_UP = 60, 4
STAGES = ("upload", "resize", "network", "blend", "download")


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("there is no GPU here")
    prepare()
    catalog = Catalog.default()
    for width, height in SIZES:
        frames = [Frame(render(n / 25, width, height), n) for n in range(8)]
        for name, chosen in CONTROLS.items():
            given = {"size": width, "texture": 0.0, **chosen}
            config = EngineConfig(style="candy", device="cuda", precision=Precision.fp16, **given)
            told = [_measured(catalog, config, frames)]
            overlapping = _overlapping(catalog, config, frames)
            with patch.object(display_path, "frame_kernels", lambda _device: None):
                told.append(_measured(catalog, config, frames))
            _tell(
                f"{width}x{height}, {name}: on the GPU {told[0]}, "
                f"overlapping {overlapping:.0f} fps; "
                f"with OpenCV {told[1]}"
            )


def _measured(catalog: Catalog, config: EngineConfig, frames: list[Frame]) -> str:
    engine = Engine(catalog)
    engine.configure(config)
    took: list[float] = []
    timings: list[Timings] = []
    for number in range(WARM_UP + FRAMES):
        began = time.perf_counter()
        styled = engine.process(frames[number % len(frames)], ProcessMode.SEQUENCE)
        took.append(time.perf_counter() - began)
        timings.append(styled.timings)
    fps = 1 / statistics.median(took[WARM_UP:])
    stages = (
        f"{stage} {statistics.median(getattr(each, stage) for each in timings[WARM_UP:]):.3f}"
        for stage in STAGES
    )
    return f"{fps:.0f} fps ({', '.join(stages)} ms)"


def _overlapping(catalog: Catalog, config: EngineConfig, frames: list[Frame]) -> float:
    engine, took, before = Engine(catalog), [], None
    engine.configure(config)
    for number in range(WARM_UP + FRAMES):
        began = time.perf_counter()
        pending = engine.begin(frames[number % len(frames)], ProcessMode.SEQUENCE)
        if before is not None:
            engine.complete(before)
        before = pending
        took.append(time.perf_counter() - began)
    if before is not None:
        engine.complete(before)
    return 1 / statistics.median(took[WARM_UP:])


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
