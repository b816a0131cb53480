"""The time of each layer on a processor, beside its floor: the products at the measured rate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.network.cpu.launchers import cpu_network
from kernels.network.cpu.work import RESIDUAL
from models.transformer_net import TransformerNetBaseline

STEPS, REPEATS = 200_000, 20  # a call takes some milliseconds

Times = dict[str, list[float]]  # milliseconds of each run, by layer


def products_per_second() -> float | None:
    """Measure the multiplications with additions in FP32 that all threads compute in a second.

    None if the native network is not in use.
    """
    native = cpu_network()
    if native is None:
        return None
    best = 0.0
    for _ in range(REPEATS):
        start = time.perf_counter()
        products = native.multiply(STEPS)
        best = max(best, products / (time.perf_counter() - start))
    return best


def measure_layers(
    networks: Mapping[str, TransformerNetBaseline], picture: Tensor, runs: int, pause_s: float
) -> dict[str, Times]:
    """Time the layers of several networks in turns, by network and layer; blocks are one layer."""
    times: dict[str, Times] = {key: {} for key in networks}
    with torch.inference_mode():
        for run in range(-1, runs):
            for key, network in networks.items():
                time.sleep(pause_s)
                for layer, ms in _once(network, picture).items():
                    if run >= 0:
                        times[key].setdefault(layer, []).append(ms)
    return times


def layer_rows(
    ours: Times, before: Times, needed: Mapping[str, float], rate: float | None
) -> list[dict[str, Any]]:
    """Return a row for each layer: medians and minima in ms, products, and the floor in ms."""
    return [
        {
            "layer": layer,
            **_figures("", ours[layer]),
            **_figures("before_", before[layer]),
            "products": needed[layer],
            "floor_ms": None if rate is None else needed[layer] / rate * 1e3,
        }
        for layer in needed
    ]


def _figures(name: str, times: list[float]) -> dict[str, float]:
    return {f"{name}median_ms": statistics.median(times), f"{name}min_ms": min(times)}


def _once(network: TransformerNetBaseline, picture: Tensor) -> dict[str, float]:
    times: dict[str, float] = {}
    network.by_layer = True
    last = time.perf_counter()

    def mark(name: str) -> None:
        nonlocal last
        now = time.perf_counter()
        group, _, layer = name.partition("/")
        layer = group if group == RESIDUAL else layer
        times[layer] = times.get(layer, 0.0) + (now - last) * 1e3
        last = now

    call: Callable[..., Tensor] = network
    call(picture, mark)
    return times
