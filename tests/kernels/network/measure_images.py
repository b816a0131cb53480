"""Benchmark of the network's images; needs a GPU and images for it.

    python -m tests.kernels.network.measure_images

Prints the milliseconds to load the library and each source. For each network, size, precision and
plan, it prints the milliseconds of a frame and the microseconds of a launch from Python.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from ctypes import c_void_p

import torch

from kernels.jit import prebuilt
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.network.dispatch import available, plan_for
from kernels.network.plan import NetworkPlan
from kernels.network.shapes import WITH_KERNELS
from kernels.self_test.network import random_weights
from kernels.table.registry import NETWORK

SIZES = [(1, 512, 512), (1, 720, 1280), (1, 1080, 1920)]
PRECISIONS = {
    "FP32": (torch.float32, {}),
    "TF32": (torch.float32, {"tf32": True}),
    "FP16": (torch.float16, {}),
    "BF16": (torch.bfloat16, {}),
    "INT8": (torch.float16, {"int8": True}),
}
ROUNDS, FRAMES = 20, 20


def main() -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    torch.zeros(1, device=device)  # the context does not count as loading time
    began = time.perf_counter()
    try:
        library = prebuilt.find(LIBRARIES[NETWORK]).load().on(device)
    except BuildError as error:
        sys.exit(str(error))
    _tell(f"library in {(time.perf_counter() - began) * 1e3:.1f} ms, without its images")
    for source in sorted(library.sources):
        began = time.perf_counter()
        library.load(source)
        _tell(f"{source} loaded in {(time.perf_counter() - began) * 1e3:.1f} ms")
    with torch.inference_mode():
        for (title, network), shape in itertools.product(WITH_KERNELS.items(), SIZES):
            weights = random_weights(network, torch.Generator().manual_seed(0))
            for name, (dtype, allowed) in PRECISIONS.items():
                int8 = "int8" in allowed
                for backend in available(network, device, dtype, library, int8=int8):
                    plan = plan_for(
                        *(weights, network, shape, dtype, device, library),
                        **allowed,
                        backend=backend.name,
                    )
                    _tell(
                        f"{title} {shape[2]}x{shape[1]} {name} {backend.name}: "
                        f"frame {_frame_ms(plan):.4f} ms, launch {_launch_us(plan):.2f} us"
                    )


def _frame_ms(plan: NetworkPlan) -> float:
    times: list[float] = []
    for round_ in range(ROUNDS + 1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(FRAMES):
            plan.replay()
        end.record()
        torch.cuda.synchronize()
        if round_:  # the first captures the graph
            times.append(start.elapsed_time(end) / FRAMES)
    return statistics.median(times)


def _launch_us(plan: NetworkPlan) -> float:
    """Return the shortest time that a launch without a graph blocks the calling thread."""
    stream, steps = c_void_p(torch.cuda.current_stream().cuda_stream), plan.steps()
    found: list[float] = []
    for _ in range(50):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for step in steps:
            step(stream, True)
        found.append((time.perf_counter() - began) / len(steps) * 1e6)
    return min(found)


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
