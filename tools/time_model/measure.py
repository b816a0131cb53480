"""Measures the network on all and on parts of a GPU's multiprocessors, layer by layer.

A part stands for a smaller GPU. A limit of shared memory stands for one whose multiprocessors have
less: the layers are those that need less, and each block takes so much more than it needs that no
more of them share a multiprocessor than would there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import c_void_p
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.jit import build
from kernels.network.dispatch import available, loaded, plan_for
from kernels.network.gpu import limited_to
from kernels.network.launchers import Network
from kernels.network.plan import NetworkPlan
from kernels.ops.registry import NETWORK
from kernels.time_model.cards import Card, card_of
from kernels.time_model.prediction import (
    RESERVED_SHARED_BYTES,
    Calibration,
    Resources,
    predict,
    resident_blocks,
)
from kernels.time_model.work import work
from tools.time_model.green_context import part_of_gpu

SIZES = ((512, 512), (1280, 720), (1920, 1080))
LIMITED = "sm80-small"  # the backend for GPUs with less shared memory
BATCH_MS = 20.0  # of launches between two looks at the clock
LAYER_BATCH_MS = 3.0
MOST_REPEATS = 400
ROUNDS = 9

Row = dict[str, Any]


class MeasuringError(RuntimeError):
    """The network cannot be measured here."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure.

    Attributes:
        multiprocessors: Numbers of them, besides all.
        shared_kb: Shared memory of a multiprocessor for the backend "sm80-small", in KB, such as
            100; 0 for all that there is.
        backends: Names of rows of BACKENDS.
        sizes: Widths and heights, in pixels.
    """

    multiprocessors: tuple[int, ...]
    shared_kb: tuple[int, ...]
    backends: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...] = SIZES


def measure(
    weights: Mapping[str, Tensor],
    device: torch.device,
    wanted: Wanted,
    told: Calibration,
    progress: Callable[[str], object],
) -> list[Row]:
    """Measure, and predict the same.

    Args:
        weights: Of the full network, with five residual blocks.
        device: A CUDA device.
        wanted: What to measure.
        told: Has the kernels, and constants to predict with.
        progress: Called with a line about each row.

    Returns:
        A row for each backend, limit and size; `all` says whether every multiprocessor took part.

    Raises:
        MeasuringError: The calibration is of other kernels, or a backend does not run here.
        GreenContextError: The driver does not divide the GPU.
    """
    library, card = loaded(device), card_of(device)
    check_kernels(library, told)
    known = [backend.name for backend in available(device, torch.float16, library)]
    if unknown := [name for name in wanted.backends if name not in known]:
        raise MeasuringError(f"{card.name} does not run {', '.join(unknown)}")
    rows: list[Row] = []
    index = device.index if str(device) != device.type else torch.cuda.current_device()
    for count in dict.fromkeys((card.multiprocessors, *wanted.multiprocessors)):
        with _part(count, card, index) as (got, stream):
            for backend in wanted.backends:
                for shared_kb in wanted.shared_kb if backend == LIMITED else (0,):
                    limited = _limited(library, card, backend, shared_kb, told, device)
                    for width, height in wanted.sizes:
                        with limited_to(got), torch.inference_mode():
                            plan = plan_for(
                                *(weights, 5, (1, height, width), torch.float16, device, limited),
                                backend=backend,
                            )
                        part = replace(card, multiprocessors=got)
                        row = _row(plan, stream, part, backend, (width, height), shared_kb, told)
                        rows.append({**row, "all": got == card.multiprocessors})
                        progress(
                            f"{backend}, {got} multiprocessors, {shared_kb or 'all'} KB, "
                            f"{width}x{height}: {row['ms']:.3f} ms, {row['predicted_ms']:.3f} "
                            "predicted"
                        )
    return rows


def check_kernels(library: Network, told: Calibration) -> None:
    """Check that a calibration is of the kernels of a library.

    Raises:
        MeasuringError: It is of others.
    """
    for backend in ("sm80", "sm80-small", "sm90"):
        for width, height in SIZES:
            ours, theirs = (
                work(backend, traits, width, height, 132) for traits in (told.traits, library.abi)
            )
            if ours != theirs:
                raise MeasuringError(
                    "the calibration is of other kernels than those loaded; "
                    "first run `python -m tools.time_model describe`"
                )


def shared_bytes_for(
    resident: int, needed: int, resources: Resources, multiprocessor_bytes: int
) -> int:
    """Dynamic shared memory of a block with which no more than `resident` share a multiprocessor.

    Args:
        resident: Blocks.
        needed: Bytes that the block needs.
        resources: Of its kernel.
        multiprocessor_bytes: Shared memory of a multiprocessor.
    """
    beside = resources.static_shared_bytes + RESERVED_SHARED_BYTES
    least = multiprocessor_bytes // (resident + 1) + 1 - beside
    return max(needed, -(-least // 16) * 16)


@contextmanager
def _part(count: int, card: Card, index: int) -> Iterator[tuple[int, c_void_p]]:
    if count == card.multiprocessors:
        stream = torch.cuda.Stream(index)
        yield count, c_void_p(stream.cuda_stream)
        return
    with part_of_gpu(count, index) as part:
        yield part


def _limited(
    library: Network,
    card: Card,
    backend: str,
    shared_kb: int,
    told: Calibration,
    device: torch.device,
) -> Network:
    """The library with blocks that leave less room for others, where shared memory is limited."""
    if not shared_kb:
        return library
    whole = (card.shared_kb + 1) * 1024
    changed: dict[str, int] = {}
    for launch in work(backend, told.traits, 512, 512, card.multiprocessors):
        resources = told.resources[launch.kernel]
        resident = resident_blocks(launch, resources, shared_kb * 1024)
        needed = shared_bytes_for(resident, launch.shared_bytes, resources, whole)
        changed[launch.kernel] = needed

    def make(
        images: ImageList, folder: Path, capability: tuple[int, int], index: int, driver: Driver
    ) -> Network:
        described = dict(images.description)
        described["sm80"] = with_shared_bytes(described["sm80"], changed)
        return Network(replace(images, description=described), folder, capability, index, driver)

    return build.handle(NETWORK).made_by(make).on(device)


def with_shared_bytes(sm80: Mapping[str, Any], changed: Mapping[str, int]) -> dict[str, Any]:
    """The general path's description with other shared memory for some layers.

    Args:
        sm80: Has "convs", "first" and "last".
        changed: Bytes by the layer's name.
    """

    def row(name: str, told: Mapping[str, Any]) -> dict[str, Any]:
        return {**told, "shared_bytes": changed.get(name, told["shared_bytes"])}

    convs = {name: row(name, told) for name, told in sm80["convs"].items()}
    edges = {name: row(name, sm80[name]) for name in ("first", "last")}
    return {**sm80, "convs": convs, **edges}


def _row(
    plan: NetworkPlan,
    stream: c_void_p,
    card: Card,
    backend: str,
    size: tuple[int, int],
    shared_kb: int,
    told: Calibration,
) -> Row:
    expected = predict(card, *size, backend=backend, shared_kb=shared_kb, told=told)
    steps = plan.steps()

    def network() -> None:
        for step in steps:
            step(stream, True)

    layers = {
        name: batch_ms(partial(step, stream, True), LAYER_BATCH_MS)
        for name, step in zip(expected.layers_ms, steps, strict=True)
    }
    return {
        "backend": backend,
        "multiprocessors": card.multiprocessors,
        "shared_kb": shared_kb,
        "width": size[0],
        "height": size[1],
        "ms": batch_ms(network, BATCH_MS),
        "predicted_ms": expected.ms,
        "layers_ms": layers,
        "predicted_layers_ms": dict(expected.layers_ms),
    }


def batch_ms(call: Callable[[], object], batch: float) -> float:
    """Median time of a call among many in a row, in milliseconds.

    The clock is the processor's: events of CUDA belong to a context, and a part of a GPU has one of
    its own. The GPU is never idle, since submitting a layer takes less time than running it.

    Args:
        call: Submits work to the GPU.
        batch: Milliseconds that a row of calls lasts, about.
    """

    def elapsed(repeats: int) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - began) * 1e3

    elapsed(2)  # loads the kernels
    repeats = max(3, min(MOST_REPEATS, round(batch * 3 / elapsed(3))))
    return statistics.median(elapsed(repeats) / repeats for _ in range(ROUNDS))
