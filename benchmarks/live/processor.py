"""Measures how many frames a second the window styles on a processor, with two kinds of kernels.

`python -m benchmarks.live.processor FILE` streams 30 frames a second of 1280x720 through the real
window, at several sizes of the network's input, with the native network and with the layers that
ran before it. Without a display, the window is rendered offscreen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from app.engine.config import EngineConfig
from benchmarks.live.program import Say, run
from benchmarks.live.window import stream
from benchmarks.network.cpu.variants import BY_LAYERS, FUSED, VARIANTS
from kernels.table.registry import STYLE
from models.transformer_net import ALL_VARIANTS

FPS, FRAME, SECONDS = 30.0, (1280, 720), 6.0
NETWORKS, SIZES = ("lite", "full"), (256, 320, 384, 512)


def measure(say: Say) -> list[dict[str, Any]]:
    """Return a row for each network and size, with a stream for each kind of kernels."""
    rows: list[dict[str, Any]] = []
    for network in NETWORKS:
        for size in SIZES:
            config = EngineConfig(
                style="candy", network=network, size=size, device="cpu", texture=0.0, fluid=False
            )
            row: dict[str, Any] = {"network": network, "size": size}
            for key in (BY_LAYERS, FUSED):
                with _running(key):
                    row[key] = asdict(stream(network, FRAME, config, FPS, SECONDS))
                say(f"{network}, {size} px, {key}: {row[key]['processed_fps']:.1f} frames a second")
            rows.append(row)
    return rows


@contextmanager
def _running(key: str) -> Iterator[None]:
    """Make the engine build the network of VARIANTS[key] where it would build the fused one."""
    usual = ALL_VARIANTS[FUSED]
    ALL_VARIANTS[FUSED] = VARIANTS[key]
    try:
        yield
    finally:
        ALL_VARIANTS[FUSED] = usual


def report(say: Say) -> Mapping[str, Any]:
    """Return the sections of the report."""
    return {"source_fps": FPS, "frame": FRAME, "window_on_processor": measure(say)}


if __name__ == "__main__":
    sys.exit(run("python -m benchmarks.live.processor", (STYLE,), report))
