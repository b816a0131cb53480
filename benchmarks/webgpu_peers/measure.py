"""Measures all ways to run a network alternately, each from bytes to bytes by the wall clock."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

import torch

from benchmarks.webgpu_peers.models import MULTIPLE, Models
from benchmarks.webgpu_peers.ncnn_vulkan import NcnnVulkan
from benchmarks.webgpu_peers.onnx_webgpu import OnnxWebGpu
from benchmarks.webgpu_peers.peer import OfBytes, Painter, Peer, Picture, Size
from benchmarks.webgpu_peers.torch_eager import TorchEager
from models.runtimes.runtime import RuntimeFault

OURS = "StyleForge WebGPU"
PEERS: Sequence[Peer] = (
    NcnnVulkan(),
    OnnxWebGpu("ONNX Runtime WebGPU"),
    OnnxWebGpu("ONNX Runtime WebGPU, norms too", half_norms=True),
    TorchEager(torch.contiguous_format, "PyTorch eager, CUDA"),
    TorchEager(torch.channels_last, "PyTorch eager, CUDA, channels last"),
)

AT_A_TIME = 3  # pictures of each way in a round; the last one counts

Errors = Callable[[Picture], dict[str, float]]


def peer_rows(
    ours: Callable[[Picture], Picture],
    models: Models,
    picture: Picture,
    errors: Errors,
    *,
    half: bool,
    gpu: str,
    warmup: int,
    runs: int,
    peers: Iterable[Peer] = PEERS,
) -> list[dict[str, Any]]:
    """Measure our network and each peer in turns, in an order that changes each round.

    Args:
        ours: Paints the picture by our plan.
        errors: Compares a painted picture with float64.
        half: Whether activations are stored in FP16, otherwise in FP32.
        gpu: The name of the GPU.
        warmup: Rounds before the measured `runs`.

    Returns:
        A row for each "way": the "wall" time and the time "inside" the runtime, if it takes no
        bytes, in ms as the least and the median; the result of `errors`; and "opening" in s, with
        the first picture. A way that does not run has "not_run", the reason.
    """
    size = picture.shape[1], picture.shape[0]
    painters: dict[str, Painter] = {OURS: OfBytes(ours)}
    rows = {OURS: {"way": OURS, **errors(ours(picture))}}
    for peer in (each for each in peers if half in each.storages):
        row: dict[str, Any] = {"way": peer.title}
        rows[peer.title] = row
        if why := peer.missing(gpu) or _odd(size):
            row["not_run"] = why
            continue
        started = time.perf_counter()
        try:
            painter = peer.open(models, size, half=half, gpu=gpu)
            made = painter(picture)
        except (RuntimeFault, torch.cuda.OutOfMemoryError) as fault:
            row["not_run"] = str(fault)
            continue
        row |= {"opening": round(time.perf_counter() - started, 3), **errors(made)}
        painters[peer.title] = painter
    for way, times in in_turns(painters, picture, warmup, runs).items():
        rows[way] |= times
    painters.clear()
    gc.collect()  # the memory of the GPU is free for the next network
    return list(rows.values())


def in_turns(
    painters: Mapping[str, Painter], picture: Picture, warmup: int, runs: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Time painters alternately; return "wall" and perhaps "inside" of each, in ms."""
    walls: dict[str, list[float]] = {way: [] for way in painters}
    insides: dict[str, list[float]] = {way: [] for way in painters}
    orders, ways = random.Random(0), list(painters)
    for number in range(warmup + runs):
        for way in orders.sample(ways, len(ways)):
            for _ in range(AT_A_TIME - 1):  # the others have left their data in the caches
                painters[way](picture)
            started = time.perf_counter()
            painters[way](picture)
            wall = 1e3 * (time.perf_counter() - started)
            if number >= warmup:
                walls[way].append(wall)
                inside = painters[way].inside
                insides[way] += [] if inside is None else [inside]
    return {
        way: {
            "wall": spread(walls[way]),
            **({"inside": spread(insides[way])} if insides[way] else {}),
        }
        for way in ways
    }


def spread(values: Iterable[float]) -> dict[str, float]:
    """Return the least value and the median."""
    listed = sorted(values)
    return {"least": round(listed[0], 4), "median": round(median(listed), 4)}


def _odd(size: Size) -> str:
    """Return why other runtimes do not paint a size: ours pads pictures, their models do not."""
    return f"a side is no multiple of {MULTIPLE}" if any(side % MULTIPLE for side in size) else ""


def versions(peers: Iterable[Peer] = PEERS) -> dict[str, str]:
    """Return the versions of the peers' packages that are installed."""
    found: dict[str, str] = {}
    for name in (name for peer in peers for name in peer.packages):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
