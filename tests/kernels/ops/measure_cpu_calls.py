"""Benchmark of the instance norm's call overhead from Python on the CPU.

    taskset -c 0 python -m tests.kernels.ops.measure_cpu_calls

Prints the microseconds of a call on a tensor so small that its norm takes no time, for every way to
call it, with gradients disabled and enabled. "least" is the fastest of many rounds: other load
makes no round faster. With `taskset`, OpenMP's threads share the core, and a tensor this small
wakes no other thread.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch

import kernel_fusion as kf
from kernels.jit import build

ROUNDS, CALLS = 60, 500
MODES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "inference_mode": torch.inference_mode,
    "no_grad": torch.no_grad,
    "gradients on, none needed": torch.enable_grad,
}


def main() -> None:
    if not build.load("instance_norm"):
        sys.exit(f"the native kernel is not in use: {build.reason('instance_norm')}")
    _tell(f"the library: {build.origin('instance_norm')}; {torch.get_num_threads()} threads")
    for name, mode in MODES.items():
        with mode():
            found: dict[str, list[tuple[float, float]]] = {way: [] for way in _ways()}
            for _ in range(ROUNDS):
                for way, call in _ways().items():
                    found[way].append(_us(call))
        for way, rounds in found.items():
            wall, busy = zip(*rounds, strict=True)
            _tell(
                f"{name}: {way}: least {min(wall):.2f} us, median {statistics.median(wall):.2f}, "
                f"of the processor {min(busy):.2f} and {statistics.median(busy):.2f}"
            )


def _ways() -> dict[str, Callable[[], object]]:
    x = torch.arange(64.0).view(1, 4, 4, 4)
    last = x.contiguous(memory_format=torch.channels_last)
    weight, bias = torch.ones(4), torch.zeros(4)
    padded = torch.empty(1, 4, 6, 6).contiguous(memory_format=torch.channels_last)
    out = torch.empty_like(x)
    rest = (1e-5, True, 1, "reflect", False)
    operation = torch.ops.styleforge.fused_instance_norm
    return {
        "kf.ops.fused_instance_norm(x)": lambda: kf.ops.fused_instance_norm(x),
        "kf.ops.fused_instance_norm(x, weight, bias)": lambda: kf.ops.fused_instance_norm(
            x, weight, bias
        ),
        "torch.ops.styleforge.fused_instance_norm(x, weight, bias)": lambda: operation(
            x, weight, bias
        ),
        "kf.ops.fused_instance_norm, every option": lambda: kf.ops.fused_instance_norm(
            last, weight, bias, last, *rest
        ),
        "kf.ops.fused_instance_norm_out, every option": lambda: kf.ops.fused_instance_norm_out(
            last, weight, bias, last, *rest, padded
        ),
        "kf.ops.fused_instance_norm_forward(x, weight, bias)": (
            lambda: kf.ops.fused_instance_norm_forward(x, weight, bias)
        ),
        "F.instance_norm(x, weight, bias), PyTorch's": lambda: torch.nn.functional.instance_norm(
            x, weight=weight, bias=bias
        ),
        "torch.relu_(out)": lambda: torch.relu_(out),
    }


def _us(call: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time and the CPU time of a call."""
    call()
    wall, busy = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        call()
    busy, wall = time.process_time() - busy, time.perf_counter() - wall
    return wall / CALLS * 1e6, busy / CALLS * 1e6


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
