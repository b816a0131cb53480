"""`styleforge bench --device webgpu`: the times of a GPU that WebGPU reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from rich.console import Console

from app.errors import StyleForgeError
from app.styles.pack import Style
from benchmarks.webgpu import PRECISIONS, in_a_line, in_float64, measured, origin, scene
from benchmarks.webgpu_moves import move_line, move_rows
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.library import WebGpuError
from models.checkpoints import load_checkpoint
from models.network_config import network_config
from models.webgpu_devices import opened

RUNS = 30


class WebGpuBenchError(StyleForgeError):
    """Raised if a GPU cannot be measured as requested."""


def run(
    sizes: Sequence[tuple[int, int]],
    runs: int | None,
    precisions: Sequence[str] | None,
    style: Style,
    device: torch.device,
    stored: Callable[[dict[str, Any]], None],
) -> None:
    """Measure a style's full and lite network, and moves of its paintings; print lines.

    Networks have a line for each size and precision.

    Args:
        runs: Pictures or moves for each line; None for RUNS.
        precisions: "fp32" and "fp16"; None for both.
        stored: Receives the report after every line, so that an interrupted run keeps its results.

    Raises:
        WebGpuBenchError: If a precision is not one of WebGPU's, or the GPU fails.
    """
    if unknown := [name for name in precisions or () if name not in PRECISIONS]:
        raise WebGpuBenchError(f"WebGPU does not compute in {', '.join(unknown)}")
    console = Console(highlight=False)
    try:
        gpu = opened(device)
        report: dict[str, Any] = {
            "style": style.key, **origin(gpu), "runs": runs or RUNS, "webgpu": [], "moves": [],
        }  # fmt: skip
        files = {"weights": style.weights, **({"lite": style.lite} if style.lite else {})}
        for (name, file), (width, height) in product(files.items(), sizes):
            state, picture = load_checkpoint(file), scene(width, height)
            exact = in_float64(state, picture)
            for precision in precisions or PRECISIONS:
                network = Network.of(network_config(state), half=PRECISIONS[precision])
                row = {
                    **{"network": name, "size": f"{width}x{height}", "precision": precision},
                    "winograd": True,
                    **measured(gpu, network, state, picture, exact, report["runs"]),
                }
                report["webgpu"].append(row)
                console.print(in_a_line(row), soft_wrap=True)
                stored(report)
        for row in move_rows(gpu, scene, report["runs"]):
            report["moves"].append(row)
            console.print(move_line(row), soft_wrap=True)
            stored(report)
    except WebGpuError as error:
        raise WebGpuBenchError(f"the GPU cannot be measured: {error}") from error
