"""Whether BF16 is faster than FP32 on this CPU, measured once per family of networks.

A CPU with BF16 instructions is not always faster in BF16. On an AMD EPYC with AVX512-BF16 (two
threads, 640x480), the fused feed-forward network takes 182 ms in FP32 and 273 ms in BF16. The
any-style network takes 1.66 s in FP32 and 1.30 s in BF16, on one thread.
"""

from __future__ import annotations

import itertools
import math
import sys
import threading
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from kernels.network.cpu.launchers import in_use

SIZE = (128, 96)  # width and height; the ratio at 640x480 is the same within 10 %
ROUNDS = 3  # the first one also prepares the weights
LEAST_GAIN = 1.05  # a smaller gain may be noise, and BF16 multiplies 8 of 24 bits

# A thread's own time does not count other programs, nor waiting for OpenMP's other threads. On
# Windows it advances in steps of 16 ms.
_clock = time.perf_counter if sys.platform == "win32" else time.thread_time

_gains: dict[tuple[str, bool], float] = {}  # by family, and whether our network on the CPU runs
_measuring = threading.Lock()


def is_faster(family: str, build: Callable[[], nn.Module]) -> bool:
    """Return whether a family's network is faster in BF16 than in FP32 on the CPU.

    The first call takes about half a second, and so does the first call after our kernels were
    loaded, which change the answer. Thread-safe.

    Args:
        build: Makes the network in FP32; called with "meta" as the default device.
    """
    with _measuring:
        key = family, in_use()
        if key not in _gains:
            _gains[key] = gain(build)
        return _gains[key] >= LEAST_GAIN


def gain(build: Callable[[], nn.Module]) -> float:
    """Return the time of a picture in FP32 divided by its time in BF16, from interleaved runs."""
    width, height = SIZE
    random = torch.Generator().manual_seed(0)  # the global generator belongs to the caller
    picture = torch.empty(1, 3, height, width).uniform_(0, 255, generator=random)
    networks = {
        dtype: _filled(build, random).to(dtype) for dtype in (torch.float32, torch.bfloat16)
    }
    best = dict.fromkeys(networks, math.inf)
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for dtype, network in networks.items():
                best[dtype] = min(best[dtype], _seconds(network, picture.to(dtype)))
    return best[torch.float32] / best[torch.bfloat16]


def _filled(build: Callable[[], nn.Module], random: torch.Generator) -> nn.Module:
    """Build a network with small random weights; drawing PyTorch's own takes longer."""
    with torch.device("meta"):
        network = build()
    network = network.to_empty(device="cpu").requires_grad_(False).eval()
    for tensor in itertools.chain(network.parameters(), network.buffers()):
        tensor.uniform_(-0.05, 0.05, generator=random)
    return network


def _seconds(network: nn.Module, picture: Tensor) -> float:
    begin = _clock()
    network(picture)
    return _clock() - begin
