"""Styles thousands of frames while every control changes at random, as in a long evening.

    python -m tests.stress.soak [--frames 10000] [--seed 0]

Frames overlap as in the window. Now and then another engine with the same config styles a frame
again, and the result must be the same bit for bit. If a frame depends on the frames before it
(smoothing, texture) or was made while an automatic choice was pending, only its size and its range
are checked. The soak ends with an error at the first fault, or if memory grows in the second half
of 10,000 frames or more.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psutil
import torch

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.inferred import Pending
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.frame import Frame
from app.options import NETWORKS, STROKES, UPSAMPLING
from app.sources.scene import render
from app.styles.catalog import Catalog
from kernels.table.registry import prepare
from models.inference import repeated_work
from models.precision import Precision
from models.transformer_net import VARIANTS
from utils.devices import resolve

CHANGE = 0.1  # fraction of frames with a new config
# frames before one config's work is captured; with more, few would be: configs change often
REPEATS = 3
CHECKED = 20  # frames between checks
GROWTH = 64e6  # bytes that memory may grow by once every size and style has been used
SETTLED = 5000  # frames until then; a shorter soak does not judge memory


@dataclass(frozen=True, slots=True)
class Soaked:
    """The result of a soak.

    Attributes:
        frames: The number of styled frames.
        configs: The number of configs.
        checked: The number of frames styled again with the same result.
        overlapped: The number of frames begun before the previous one was complete.
        seconds: The duration.
        grown: Growth of the memory of the process and of PyTorch on the GPU in the second half, in
            bytes.
    """

    frames: int
    configs: int
    checked: int
    overlapped: int
    seconds: float
    grown: int


class Fault(AssertionError):
    """Raised for a wrong frame."""


def configs(
    rng: random.Random, catalog: Catalog, device: str, sizes: tuple[int, ...]
) -> Iterator[EngineConfig]:
    """Yield configs without end; each differs from the previous one in one to three controls."""
    styles = [style.key for style in catalog.styles]
    choices: dict[str, list[Any]] = {
        "style": styles,
        "mix": [None, *styles],
        "mix_amount": [0.0, 0.3, 1.0],
        "kernels": list(VARIANTS),
        "precision": list(Precision),
        "network": [*NETWORKS, "full"],
        "strokes": list(STROKES),
        "size": [None, *sizes],
        "strength": [0.0, 0.4, 1.0],
        "keep_colors": [False, True],
        "smoothing": [0.0, 0.0, 0.0, 0.5, 0.9],
        "upsampling": list(UPSAMPLING),
        "texture": [0.0] * 6 + ["auto", 0.5],
        "compare": [False] * 9 + [True],
    }
    first = {"style": styles[0], "size": sizes[0], "network": "full", "texture": 0.0}
    config = EngineConfig(device=device, **first)
    while True:
        yield config
        changed = rng.sample(list(choices), rng.randint(1, 3))
        config = replace(config, **{name: rng.choice(choices[name]) for name in changed})


@contextmanager
def captured_soon() -> Iterator[None]:
    kept, repeated_work.REPEATS = repeated_work.REPEATS, REPEATS
    try:
        yield
    finally:
        repeated_work.REPEATS = kept


@captured_soon()
def soak(
    frames: int, seed: int, device: str, sizes: tuple[int, ...], captured: list[tuple[int, int]]
) -> Soaked:
    """Style frames; frames of the same config soon run as one CUDA graph.

    Args:
        frames: The number of frames.
        seed: The seed of the random choices.
        device: Such as "cuda".
        sizes: Long sides of the network's input to choose from.
        captured: (width, height) of the frames to choose from.

    Raises:
        Fault: If a frame is wrong, or memory grew.
    """
    rng, catalog, began = random.Random(seed), Catalog.default(), time.perf_counter()
    engine, other = Engine(catalog), Engine(catalog)
    pictures = {size: [render(n / 3, *size) for n in range(4)] for size in captured}
    chosen, size = configs(rng, catalog, device, sizes), captured[0]
    config = next(chosen)
    engine.configure(config)
    seen, checked, overlapped = 1, 0, 0
    half_way = 0
    ahead: tuple[Frame, Pending] | None = None

    def look_at(frame: Frame, styled: StyledFrame, *, check: bool) -> int:
        if styled.frame.pixels.shape != frame.pixels.shape:
            raise Fault(f"{styled.frame.pixels.shape} of a frame of {frame.pixels.shape}")
        if styled.config.strength and styled.frame.pixels.min() == styled.frame.pixels.max():
            raise Fault(f"frame {frame.index} has one color: {styled.config}")
        if not check or not _repeatable(styled.config):
            return 0
        other.configure(styled.config)
        with fixed_convolutions():
            again = other.process(frame, ProcessMode.SEQUENCE)
        apart = np.abs(again.frame.pixels.astype(int) - styled.frame.pixels).max()
        if again.running == styled.running and apart > _allowed(styled.config):
            raise Fault(f"frame {frame.index} is {apart} of 255 apart: {styled.config}")
        return int(again.running == styled.running)

    for index in range(frames):
        if rng.random() < CHANGE:
            config = next(chosen)
            engine.configure(config)
            seen += 1
        if rng.random() < CHANGE / 2:
            size = rng.choice(captured)
        frame = Frame(pictures[size][index % 4], index)
        screen = (size[0] // 2, size[1] // 2)
        pending = engine.begin(frame, ProcessMode.SEQUENCE, config, screen)
        if ahead is not None:
            overlapped += pending is not None
            check = ahead[0].index % CHECKED == 0
            checked += look_at(ahead[0], engine.complete(ahead[1]), check=check)
        ahead = None if pending is None else (frame, pending)
        if pending is None:
            styled = engine.process(frame, ProcessMode.SEQUENCE)
            checked += look_at(frame, styled, check=index % CHECKED == 0)
        if index == frames // 2:
            half_way = _memory()
    if ahead is not None:
        look_at(ahead[0], engine.complete(ahead[1]), check=False)
    grown = _memory() - half_way
    if frames - frames // 2 >= SETTLED and grown > GROWTH:
        raise Fault(f"memory grew by {grown / 1e6:.0f} MB in the last {frames - frames // 2}")
    return Soaked(frames, seen, checked, overlapped, time.perf_counter() - began, grown)


@contextmanager
def fixed_convolutions() -> Iterator[None]:
    """Make PyTorch choose algorithms by rule, so that two engines choose the same."""
    kept = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = kept


def _repeatable(config: EngineConfig) -> bool:
    """Return whether a frame depends only on itself and its config.

    It must not depend on the frames before it or on their measured times.
    """
    if config.smoothing or config.texture != 0:  # its pattern has moved with the scene
        return False
    return config.size is not None and config.network != "auto"


def _allowed(config: EngineConfig) -> int:
    """Return the allowed difference of 255.

    The fused networks are bit-equal from run to run; PyTorch's need not be.
    """
    return 0 if config.kernels == "fused" and not config.compare else 2


def _memory() -> int:
    on_gpu = torch.cuda.memory_reserved() if torch.cuda.is_available() else 0
    return psutil.Process().memory_info().rss + on_gpu


def main() -> int:
    """Soak and print the result; return 1 after a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.soak")
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    prepare()
    device = resolve("auto")
    large = device.type == "cuda"
    sizes = (512, 640, 1280) if large else (96, 128)
    captured = [(1280, 720), (1024, 768), (333, 517)] if large else [(160, 120), (97, 131)]
    try:
        found = soak(given.frames, given.seed, str(device), sizes, captured)
    except Fault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    sys.stdout.write(f"{found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
