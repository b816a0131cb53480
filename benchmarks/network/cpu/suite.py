"""The suite: one network at one size in every variant, in interleaved runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from app.sources.scene import render
from benchmarks.network.cpu.layers import (
    layer_rows,
    measure_layers,
    products_per_second,
)
from benchmarks.network.cpu.memory import peak_mb
from benchmarks.network.cpu.variants import BY_LAYERS, FUSED, VARIANTS
from benchmarks.network.measure import BenchOptions, NetworkBench
from kernels.network.cpu.work import products
from models.checkpoints import load_checkpoint
from models.network_config import network_config
from models.precision import Precision
from models.transformer_net import TransformerNetFused

SIZES = (320, 240), (640, 480), (1280, 720)
PACKAGES = "torch", "openvino", "onnxruntime", "MNN", "ncnn"
PAUSE_S = 0.02  # idle threads of OpenMP and of other runtimes spin for milliseconds

Progress = Callable[..., None]


def facts() -> dict[str, Any]:
    """Return the versions of the runtimes, and the measured rate of products per second."""
    return {
        "runtimes": {name: found for name in PACKAGES if (found := _version(name))},
        "products_per_second": products_per_second(),
    }


def measure(
    weights: Path,
    width: int,
    height: int,
    runs: int,
    rate: float | None,
    progress: Progress,
    compile_mode: str | None = "default",
) -> dict[str, Any]:
    """Measure one network at one size: every variant, the layers of two, and their peak memory.

    Args:
        rate: The products per second of `facts`.
        progress: As for NetworkBench.measure.
        compile_mode: As in BenchOptions.
    """
    state = load_checkpoint(weights)
    cpu = torch.device("cpu")
    wanted = BenchOptions(
        tuple(VARIANTS), (Precision.fp32,), runs, compile_mode, (Precision.fp32,), PAUSE_S
    )
    rows = NetworkBench(state, cpu, width, height, VARIANTS).measure(wanted, progress)
    size = f"{width}x{height}"
    progress(description=f"{size}: layer by layer", total=None)
    config = network_config(state)
    networks: dict[str, TransformerNetFused] = {}
    for key in (FUSED, BY_LAYERS):
        network = VARIANTS[key](**asdict(config)).requires_grad_(False).eval()
        assert isinstance(network, TransformerNetFused)
        network.load_state_dict(state)
        networks[key] = network
    picture = torch.from_numpy(render(1.0, width, height)).permute(2, 0, 1)[None].float()
    picture = picture.contiguous(memory_format=torch.channels_last)
    times = measure_layers(networks, picture, runs, PAUSE_S)
    progress(description=f"{size}: memory", total=None)
    return {
        "width": width,
        "height": height,
        "rows": rows,
        "layers": layer_rows(times[FUSED], times[BY_LAYERS], products(config, width, height), rate),
        "peak_mb": {key: peak_mb(key, weights, width, height) for key in networks},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
