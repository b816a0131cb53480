"""Benchmark of an operation's call overhead from Python on a GPU.

    python -m tests.kernels.ops.measure_gpu_calls

Prints the microseconds that a call blocks the calling thread, on tensors so small that their
kernels take less, with gradients disabled and enabled. "least" is the fastest of many rounds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch

from kernels import ops
from kernels.jit import build
from kernels.table.registry import OPERATIONS

ROUNDS, CALLS = 40, 100
MODES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "inference_mode": torch.inference_mode,
    "no_grad": torch.no_grad,
    "gradients on, none needed": torch.enable_grad,
}


def main() -> None:
    if not build.load(OPERATIONS):
        sys.exit(f"the native kernels are not in use: {build.reason(OPERATIONS)}")
    _tell(f"the library: {build.origin(OPERATIONS)}; {torch.cuda.get_device_name()}")
    torch.backends.cudnn.allow_tf32 = False
    for name, mode in MODES.items():
        with mode():
            for way, call in _ways().items():
                rounds = [_us(call) for _ in range(ROUNDS)]
                median = statistics.median(rounds)
                _tell(f"{name}: {way}: least {min(rounds):.1f} us, median {median:.1f}")


def _ways() -> dict[str, Callable[[], object]]:
    x = torch.randn(1, 4, 8, 8, device="cuda")
    last = x.contiguous(memory_format=torch.channels_last)
    weight, gamma, beta = (
        torch.randn(4, 4, 3, 3).cuda(),
        torch.ones(4).cuda(),
        torch.zeros(4).cuda(),
    )
    half = x.half(), weight.half()
    unit = weight, beta, gamma, beta
    return {
        "norm": lambda: ops.fused_instance_norm_forward(x, gamma, beta),
        "norm, channels last": lambda: ops.fused_instance_norm_forward(last, gamma, beta),
        "convolution": lambda: ops.fused_conv_reflection_pad_forward(x, *unit[:2], 1, 1, 1, True),
        "convolution by cuDNN": lambda: ops.fused_conv_reflection_pad_forward(*half, None, 1),
        "conv + norm + ReLU": lambda: ops.fused_conv_instancenorm_forward(
            x, *unit, 1e-5, 1, 1, True, False, True
        ),
        "residual block": lambda: ops.fused_residual_block_forward(x, *unit, *unit, 1e-5, True),
    }


def _us(call: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - began) / CALLS * 1e6


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
