"""Measures the networks on all and on parts of a GPU's multiprocessors, layer by layer.

A part represents a smaller GPU. A limit of shared memory represents a GPU whose multiprocessors
have less. Plans are made for that GPU, and each block reserves extra shared memory, so that no more
blocks share a multiprocessor than on that GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import c_void_p
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.time_model.green_context import part_of_gpu
from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.jit import build
from kernels.network.dispatch import BACKENDS, plan_for, shipped
from kernels.network.gpu import standing_for
from kernels.network.launchers import Network
from kernels.network.limited import padded as padded
from kernels.network.plan import NetworkPlan, Step
from kernels.network.shapes import WITH_KERNELS
from kernels.network.sm90 import layers_apart
from kernels.table.registry import NETWORK
from kernels.time_model.cards import Card, card_of
from kernels.time_model.prediction import Calibration, predict
from kernels.time_model.work import work

SIZES = ((512, 512), (1280, 720), (1920, 1080))
LAUNCHES = 20  # of a layer or of the network in a CUDA graph
BATCH_MS = 10.0  # approximate time between two readings of the clock
LAYER_BATCH_MS = 3.0
ROUNDS = 6

Row = dict[str, Any]


class MeasuringError(RuntimeError):
    """Raised if the networks cannot be measured on this machine."""


@dataclass(frozen=True, slots=True)
class Case:
    """A way to run a network: its name in WITH_KERNELS, and the name of a row of BACKENDS.

    Attributes:
        shared_kb: Available shared memory per multiprocessor in KB; 0 for all of it.
    """

    network: str
    backend: str
    shared_kb: int = 0

    def __str__(self) -> str:
        return f"{self.network}, {self.backend}, {self.shared_kb or 'all'} KB"


# 100 KB as in a multiprocessor of compute capability 8.6, 8.9 or 12.0.
CASES = (
    Case("full", "sm90"),
    Case("full", "sm80"),
    Case("full", "sm80-small", 100),
    Case("lite", "sm80"),
    Case("lite", "sm80", 100),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for measurements.

    Attributes:
        multiprocessors: Numbers of multiprocessors, in addition to all.
        cases: Networks and the ways to run them.
        sizes: Widths and heights in pixels.
    """

    multiprocessors: tuple[int, ...]
    cases: tuple[Case, ...] = CASES
    sizes: tuple[tuple[int, int], ...] = SIZES


def measure(
    weights: Mapping[str, Mapping[str, Tensor]],
    device: torch.device,
    wanted: Wanted,
    told: Calibration,
    progress: Callable[[str], object],
) -> list[Row]:
    """Measure the networks, and predict the same times.

    Args:
        weights: The weights of each network by its name, with five residual blocks.
        device: A CUDA device.
        wanted: The request; a case that the GPU does not run is reported and left out.
        told: The source of the kernels and of the constants for predictions.
        progress: Called with a line about each row.

    Returns:
        A row for each case and size; `all` tells whether every multiprocessor took part.

    Raises:
        MeasuringError: If the calibration is of other kernels.
        GreenContextError: If the driver does not divide the GPU.
    """
    library, card = shipped(device), card_of(device)
    check_kernels(library, told, card)
    libraries: dict[Case, Network] = {}
    for case in wanted.cases:
        if why := _why_not(case, card, told):
            progress(f"{case}: not measured on {card.name}: {why}")
        else:
            libraries[case] = limited(library, card, case.shared_kb, device)
    rows: list[Row] = []
    index = device.index if str(device) != device.type else torch.cuda.current_device()
    for count in dict.fromkeys((card.multiprocessors, *wanted.multiprocessors)):
        with _part(count, card, index) as (got, stream):
            for case, its_library in libraries.items():
                part = card.part(got, case.shared_kb)
                for width, height in wanted.sizes:
                    with standing_for(part.gpu), layers_apart(), torch.inference_mode():
                        plan = plan_for(
                            weights[case.network],
                            WITH_KERNELS[case.network],
                            (1, height, width),
                            torch.float16,
                            device,
                            its_library,
                            backend=case.backend,
                        )
                    row = _row(plan, stream, part, case, (width, height), told)
                    rows.append({**row, "all": got == card.multiprocessors})
                    progress(
                        f"{case}, {got} multiprocessors, {width}x{height}: {row['ms']:.3f} ms, "
                        f"{row['predicted_ms']:.3f} predicted"
                    )
    return rows


def check_kernels(library: Network, told: Calibration, card: Card) -> None:
    """Check that a calibration fits the kernels of a library.

    Raises:
        MeasuringError: If it is of other kernels.
    """
    for case in CASES:
        gpu = card.part(card.multiprocessors, case.shared_kb).gpu
        for size in SIZES:
            ours, theirs = (
                work(case.network, case.backend, traits, *size, gpu)
                for traits in (told.traits, library.abi)
            )
            if ours != theirs:
                raise MeasuringError(
                    "the calibration is from other kernels than the loaded ones; first run "
                    "`python -m benchmarks.time_model describe`"
                )


def limited(library: Network, card: Card, shared_kb: int, device: torch.device) -> Network:
    """Return the library, with blocks that leave less room for others if shared memory is limited.

    Args:
        shared_kb: Shared memory per multiprocessor in KB; 0 for all.
    """
    if not shared_kb:
        return library

    def make(
        images: ImageList, folder: Path, capability: tuple[int, int], index: int, driver: Driver
    ) -> Network:
        whole = card.gpu.shared_bytes_of_multiprocessor
        described = padded(images.description, shared_kb * 1024, whole)
        return Network(replace(images, description=described), folder, capability, index, driver)

    return build.handle(NETWORK).made_by(make).on(device)


def _why_not(case: Case, card: Card, told: Calibration) -> str:
    (backend,) = (row for row in BACKENDS if row.name == case.backend)
    gpu = card.part(card.multiprocessors, case.shared_kb).gpu
    return backend.reason(gpu, WITH_KERNELS[case.network], torch.float16, told.traits)


@contextmanager
def _part(count: int, card: Card, index: int) -> Iterator[tuple[int, c_void_p | None]]:
    """Yield a number of multiprocessors and their stream; None for all."""
    if count == card.multiprocessors:
        yield count, None
        return
    with part_of_gpu(count, index) as part:
        yield part


def _row(
    plan: NetworkPlan,
    stream: c_void_p | None,
    card: Card,
    case: Case,
    size: tuple[int, int],
    told: Calibration,
) -> Row:
    expected = predict(card, *size, case.network, backend=case.backend, told=told)
    steps = plan.steps()
    layers = {
        name: steps_ms([step], stream, LAYER_BATCH_MS)
        for name, step in zip(expected.layers_ms, steps, strict=True)
    }
    return {
        "network": case.network,
        "backend": case.backend,
        "multiprocessors": card.multiprocessors,
        "shared_kb": case.shared_kb,
        "width": size[0],
        "height": size[1],
        "ms": steps_ms(steps, stream, BATCH_MS),
        "predicted_ms": expected.ms,
        "layers_ms": layers,
        "predicted_layers_ms": dict(expected.layers_ms),
    }


def steps_ms(steps: Sequence[Step], stream: c_void_p | None, batch: float) -> float:
    """Return the least time of some layers, one after another, in milliseconds.

    On a whole GPU a CUDA graph launches them, as in the program. On a part of it they are launched
    one by one, which takes less time than they run there.

    Args:
        stream: The stream of a part of the GPU; None for all of it.
        batch: Approximate milliseconds between two readings of the clock.
    """
    if stream is None:
        return batch_ms(_captured(steps, LAUNCHES), batch) / LAUNCHES
    return batch_ms(partial(_launch, steps, stream), batch)


def _launch(steps: Sequence[Step], stream: c_void_p) -> None:
    for step in steps:
        step(stream, True)


def _captured(steps: Sequence[Step], times: int) -> Callable[[], object]:
    _launch(steps, c_void_p(torch.cuda.current_stream().cuda_stream))  # loads the kernels
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        for _ in range(times):
            _launch(steps, stream)
    return graph.replay


def batch_ms(call: Callable[[], object], batch: float) -> float:
    """Return the least time of a call among many in a row, in milliseconds.

    The clock is the processor's: CUDA events belong to a context, and a part of a GPU has its own.

    Args:
        batch: Approximate milliseconds of a row of calls.
    """

    def elapsed(repeats: int) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - began) * 1e3

    elapsed(1)  # loads the kernels
    repeats = max(1, round(batch / elapsed(1)))
    return min(elapsed(repeats) / repeats for _ in range(ROUNDS))
