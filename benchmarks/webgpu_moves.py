"""Measures how long a GPU that WebGPU reaches takes to move the painting of a fluid stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.webgpu_peers.measure import spread
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.moving.stream import WebGpuMover

SIZE = 640, 360  # width and height of the paintings
STEP, PLACES = 3, 40  # pixels from frame to frame, and frames until the first one comes again
WARMUP = 10  # moves

Picture = NDArray[np.uint8]  # [H, W, 3]


def move_rows(
    device: Device,
    scene: Callable[[int, int], Picture],
    runs: int,
    size: tuple[int, int] = SIZE,
) -> Iterator[dict[str, Any]]:
    """Measure moves of one painting, and of two while the newer one fades in.

    Args:
        scene: Makes a picture of a width and height, over which a camera pans.

    Yields:
        The "size", the "paintings", and times in ms as the least and the median of `runs`: "gpu" by
        timestamps if the GPU has them, "wall" from bytes to bytes.
    """
    wide, high = size
    picture = scene(wide + STEP * PLACES, high)
    for paintings in (1, 2):
        mover, walls, times = WebGpuMover(device, high, wide), list[float](), list[float]()
        for number in range(WARMUP + runs):
            right = STEP * (number % PLACES)
            source = np.ascontiguousarray(picture[:, right : right + wide])
            if number == 0 or paintings == 2:
                mover.painted(255 - source, source)
            begun = time.perf_counter()
            mover.shown(source)
            walls.append(1e3 * (time.perf_counter() - begun))
            if device.adapter.timed:
                times.append(mover.milliseconds())
        row = {"size": f"{wide}x{high}", "paintings": paintings, "wall": spread(walls[WARMUP:])}
        yield {**row, "gpu": spread(times[WARMUP:])} if times else row


def move_line(row: dict[str, Any]) -> str:
    """Return a row as a line: the medians of the GPU and of the wall clock."""
    gpu = f"GPU {row['gpu']['median']:.3f} ms; " if "gpu" in row else ""
    mixing = "a painting moves" if row["paintings"] == 1 else "two paintings move and mix"
    return f"{mixing} at {row['size']}: {gpu}wall {row['wall']['median']:.2f} ms"
