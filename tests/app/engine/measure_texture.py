"""Benchmark of texture and of directed strokes on the CPU, beside the frames themselves.

`python -m tests.app.engine.measure_texture` prints the minimum of several rounds in milliseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.engine.texture import Texture
from app.engine.texture.reference import TextureReference
from app.frame import Frame
from app.sources.scene import render
from app.styles.catalog import Catalog
from kernels.frames.combing import FOLLOW, SWIRL, Comb
from kernels.table.registry import STYLE, prepare

SIZES = ((256, 160), (384, 256), (640, 384))  # width, height
ROUNDS, CALLS = 8, 40  # for each, alternating


def main() -> None:
    for status in prepare(family=STYLE):
        if status.reason and not status.by_choice:
            sys.exit(f"{status.name}: {status.reason}")
    names = "texture, follow, swirl, one way, reference, full network, lite network"
    say(f"{torch.get_num_threads()} threads; size, {names}")
    for width, height in SIZES:
        views = [np.ascontiguousarray(render(n / 25, width, height)) for n in range(8)]
        frames = [Frame(view) for view in views]
        timed: dict[str, Callable[[int], object]] = {
            "texture": adding(Texture(), views),
            **{str(each): adding(Texture(), views, Comb(each)) for each in (FOLLOW, SWIRL, 45.0)},
            "reference": adding(TextureReference(), views),
            "full": styling("full", frames),
            "lite": styling("lite", frames),
        }
        found = dict.fromkeys(timed, float("inf"))
        for name, run in [each for _ in range(ROUNDS) for each in timed.items()]:
            for number in range(2 if name in ("full", "lite") else CALLS):
                start = time.perf_counter()
                run(number)
                found[name] = min(found[name], (time.perf_counter() - start) * 1e3)
        say(f"{width}x{height}  " + "  ".join(f"{each:.2f}" for each in found.values()))


def adding(
    texture: Texture | TextureReference, views: list[np.ndarray], comb: Comb | None = None
) -> Callable[[int], object]:
    def add(number: int) -> object:
        return texture.apply((views[number % len(views)],), 0.5, continues=True, comb=comb)

    return add


def styling(network: str, frames: list[Frame]) -> Callable[[int], object]:
    engine = Engine(Catalog.default())
    size = max(frames[0].width, frames[0].height)
    engine.configure(
        EngineConfig(style="candy", network=network, size=size, texture=0.0, device="cpu")
    )
    return lambda number: engine.process(frames[number], ProcessMode.LIVE)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
