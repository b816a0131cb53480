"""Frame rates on a GPU through WebGPU: measured with a block for a report, or predicted."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median
from typing import Any

import numpy as np
import torch

from app.commands.card_rates import PREDICTED, CardRatesError, Rate, all_keys, rates_on, remember
from app.measured_rates import SIZES, Machine
from app.version import styleforge_version
from kernels.network.webgpu.adapters import BUFFER_LIMITS, Adapter, adapters, hardware
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.plan import WebGpuPlan, unsupported
from kernels.network.webgpu.weights import Weights
from kernels.self_test.network import agreement, random_weights, reference
from kernels.time_model.webgpu import predict
from kernels.time_model.webgpu_cards import card_of_adapter
from models.network_config import CONFIGS, NetworkConfig

RUNS, BUDGET_S = 30, 3.0  # of a network at one size: the fewer of both, and at least LEAST_RUNS
LEAST_RUNS = 3
SLOW_MS = 300.0  # from here on only whole pictures are timed: drivers end long submissions
CHECKED = (96, 72)  # width and height of the picture that is compared with float64
RIGHT_DB = 40.0  # wrong shaders are far below, FP16 far above
LIMITS = (
    *BUFFER_LIMITS,
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
)
Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Time:
    """Times of a network for a picture in ms, as medians.

    Attributes:
        wall: From bytes to bytes, with upload and download.
        gpu: Of the GPU alone; None if it does not measure times, or if it is slow.
    """

    wall: float
    gpu: float | None

    @property
    def best(self) -> float:
        """The GPU's time if it is known."""
        return self.wall if self.gpu is None else self.gpu


def first_adapter() -> Adapter:
    """Return the first hardware GPU.

    Raises:
        WebGpuError: If there is none.
    """
    return hardware(adapters())


def webgpu_rates_of(adapter: Adapter) -> Iterator[Rate | str]:
    """Yield the measured or predicted rate per network and size of a GPU, and remarks."""

    def predicted() -> list[Rate]:
        card = card_of_adapter(adapter.name)
        if card is None:
            raise ValueError("the table of WebGPU's time model lacks it")
        found = [
            (key, predict(card, *key[1:], key[0], half=adapter.half).fps) for key in all_keys()
        ]
        return [Rate(*key, fps, PREDICTED, f"WebGPU, from {card.source}") for key, fps in found]

    return rates_on(Machine.of_adapter(adapter), predicted)


def measure_webgpu(
    adapter: Adapter, sizes: Sequence[Size] = SIZES, tell: Callable[[str], object] = str
) -> str:
    """Measure each network, with random weights, on a GPU, and store the times.

    Args:
        sizes: Widths and heights.
        tell: Receives each line as soon as it is known.

    Returns:
        A block of lines for a report: the GPU, its limits, versions, errors, and times.

    Raises:
        CardRatesError: If the GPU fails, or the file cannot be written.
    """
    lines: list[str] = []

    def add(line: str) -> None:
        lines.append(line)
        tell(line)

    try:
        with closing(Device(adapter)) as device:
            for line in _facts(adapter):
                add(line)
            for name, config in CONFIGS.items():
                _measure_network(device, name, config, sizes, add)
    except WebGpuError as exc:
        raise CardRatesError(f"measuring {adapter.name} through WebGPU failed: {exc}") from exc
    return "".join(f"{line}\n" for line in lines)


def _measure_network(
    device: Device,
    name: str,
    config: NetworkConfig,
    sizes: Sequence[Size],
    add: Callable[[str], None],
) -> None:
    half = device.adapter.half
    network = Network.of(config, half=half)
    state = random_weights(config, torch.Generator().manual_seed(0))
    weights = Weights(device, network, state)
    add(f"{name}: {told_agreement(_agreement(device, network, weights, state))}")
    found: dict[Size, float] = {}
    for size in sizes:
        label = f"{name}, {'FP16' if half else 'FP32'}, {size[0]}x{size[1]}"
        if why := unsupported(network, size, device):
            add(f"{label}: not measured: {why}")
            continue
        one = measure_plan(WebGpuPlan(device, network, size), weights, size, device.adapter.timed)
        gpu = "" if one.gpu is None else f"GPU {one.gpu:.2f} ms, "
        add(f"{label}: {gpu}from bytes to bytes {one.wall:.2f} ms")
        found[size] = one.best
    remember(Machine.of_adapter(device.adapter), name, found)


def measure_plan(plan: Any, weights: Any, size: Size, timed: bool) -> Time:
    """Time a plan for a random picture.

    Args:
        plan: A WebGpuPlan for pictures of `size`, width and height.
        timed: Whether the GPU measures the time of shaders.
    """
    width, height = size
    picture = np.random.default_rng(0).integers(0, 256, (1, height, width, 3), np.uint8)
    plan(weights, picture)  # compiles the shaders
    first = _wall(lambda: plan(weights, picture))
    runs = max(LEAST_RUNS, min(RUNS, int(BUDGET_S / (first / 1e3))))
    if first > SLOW_MS:
        return Time(median(_wall(lambda: plan(weights, picture)) for _ in range(runs)), None)
    for _ in range(runs):  # until the clocks are up
        plan(weights, picture)
    walls = [_wall(lambda: plan(weights, picture)) for _ in range(runs)]
    gpu = [plan.times(weights, lambda _: "all")["all"] for _ in range(runs)] if timed else []
    return Time(median(walls), median(gpu) if gpu else None)


def _agreement(
    device: Device, network: Network, weights: Weights, state: dict[str, torch.Tensor]
) -> float:
    """Compare a random picture in FP32 with float64; return the agreement in dB."""
    width, height = CHECKED
    picture = np.random.default_rng(0).uniform(0, 255, (1, height, width, 3)).astype(np.float32)
    made = WebGpuPlan(device, network, CHECKED)(weights, picture)
    exact = {name: each.double() for name, each in state.items()}
    with torch.inference_mode():
        x = torch.from_numpy(picture).permute(0, 3, 1, 2)
        right = reference(exact, network.num_residual_blocks, x)
    return agreement(torch.from_numpy(made).permute(0, 3, 1, 2).double(), right)


def told_agreement(decibels: float) -> str:
    """Say whether a GPU paints right."""
    verdict = "right" if decibels >= RIGHT_DB else "WRONG"
    return f"{verdict}, {decibels:.0f} dB against float64 at {CHECKED[0]}x{CHECKED[1]}"


def _facts(adapter: Adapter) -> Iterator[str]:
    """Yield lines on a GPU and the software around it, without names of files or users."""
    info, limits = adapter.handle.info, adapter.handle.limits
    yield f"adapter: {adapter.name}, {info['adapter_type']}, by {adapter.backend}"
    yield f"driver: {adapter.driver}"
    yield f"vendor: {info['vendor']}, architecture: {info['architecture'] or 'not told'}"
    yield f"FP16: {'yes' if adapter.half else 'no'}, timestamps: {'yes' if adapter.timed else 'no'}"
    yield "limits: " + ", ".join(f"{name} {limits[name]}" for name in LIMITS)
    yield (
        f"versions: StyleForge {styleforge_version()}, wgpu {version('wgpu')}, "
        f"PyTorch {torch.__version__}, Python {platform.python_version()}"
    )
    yield f"system: {platform.platform()}"


def _wall(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - started)
