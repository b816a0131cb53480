"""Launches every CUDA kernel once, on small shapes, for compute-sanitizer to watch.

    compute-sanitizer --tool memcheck python -m tests.sanitizer.launch_all_kernels
    compute-sanitizer --tool initcheck python -m tests.sanitizer.launch_all_kernels
    STYLEFORGE_BUILD=1 STYLEFORGE_RACECHECK=1 compute-sanitizer --tool racecheck \
        --kernel-name kns=styleforge python -m tests.sanitizer.launch_all_kernels

Build first (`styleforge doctor` does, with the same variables): under the sanitizer a build takes
very long. Racecheck sees only the threads that arrive at a barrier, so that STYLEFORGE_RACECHECK
builds kernels in which all do.

Names launch only those: of families of operations, of plans of the network, or "frames".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_void_p
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from kernels.frames.launchers import frame_kernels
from kernels.network import dispatch, sm80, sm90
from kernels.network.abi import Sm90Conv, Sm90Precision
from kernels.network.dispatch import BACKENDS, available, plan_for
from kernels.network.plan import NetworkPlan
from kernels.network.shapes import WITH_KERNELS
from kernels.ops.autograd import tensors_of
from kernels.ops.registry import OPS, Op, prepare
from kernels.self_test.frames import self_test
from kernels.self_test.network import random_weights

SHAPE = 2, 37, 54  # pictures, height, width: nothing is a multiple of a tile
BLOCKS = 2
FRAMES = "frames"


def samples_on_gpu(op: Op, device: torch.device) -> Iterator[list[Any]]:
    """The samples of an operation, and those in FP32 once more in FP64 if it has kernels for it."""

    def moved(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
        if isinstance(value, list):
            return [moved(each, change) for each in value]
        return change(value) if isinstance(value, Tensor) else value

    def wide(x: Tensor) -> Tensor:
        # the numbers of optimizers, such as their steps, are FP32 whatever the tensors are
        number = op.group == "optim" and x.numel() == 1
        return x.to(device, torch.float64 if x.is_floating_point() and not number else None)

    for arguments in op.samples():
        yield [moved(x, lambda x: x.to(device)) for x in arguments]
        first = next(tensors_of(arguments))
        if torch.float64 in op.cuda_dtypes and first.dtype == torch.float32:
            yield [moved(x, wide) for x in arguments]


def operations(parts: Sequence[str]) -> int:
    """The samples of the operations of some families, in both settings of TF32."""
    count = 0
    for op in OPS.values():
        if not op.cuda or op.family not in parts:
            continue
        for on_gpu in samples_on_gpu(op, torch.device("cuda")):
            for tf32 in (False, True):
                torch.backends.cudnn.allow_tf32 = tf32
                op.overload(*on_gpu)
                count += 1
    return count


def plans(parts: Sequence[str]) -> Iterator[NetworkPlan]:
    """Every network by some backends of this GPU in each of its precisions, with the tiles of small
    and of large pictures, and with residual layers that are joined where they can be, and apart."""
    device = torch.device("cuda")
    library = dispatch.shipped(device)
    for known in WITH_KERNELS.values():
        network = replace(known, num_residual_blocks=BLOCKS)
        weights = random_weights(network, torch.Generator().manual_seed(0))
        precisions = [
            (backend.name, dtype, tf32)
            for dtype in dict.fromkeys(dtype for backend in BACKENDS for dtype in backend.dtypes)
            for backend in available(network, device, dtype, library)
            for tf32 in ((False, True) if dtype is torch.float32 else (False,))
        ]
        integers = [
            (backend.name, torch.float16, False)
            for backend in available(network, device, torch.float16, library, int8=True)
        ]
        for name, dtype, tf32 in (*precisions, *integers):
            if name not in parts:
                continue
            int8 = (name, dtype, tf32) in integers
            make = partial(plan_for, weights, network, SHAPE, dtype, device, tf32=tf32, int8=int8)
            yield make(backend=name)
            if name == "sm90" and dtype is torch.float16:
                with sm90.layers_apart():
                    yield make(backend=name)
            with (
                sm90.layers_apart(),
                patch.object(sm90.layout, "residual_conv", _large_tiles),
                patch.object(sm80, "COST_OF_WIDE_TILE", 0),
            ):
                yield make(backend=name)


def _large_tiles(_size: tuple[int, int], _blocks: int, precision: Sm90Precision) -> Sm90Conv:
    return precision.convs["same_large"]


def main(given: Sequence[str]) -> int:
    """Print how many operations and layers were launched; 1 if a kernel is not ready."""
    known = [*dict.fromkeys(op.family for op in OPS.values()), *(x.name for x in BACKENDS), FRAMES]
    if unknown := [name for name in given if name not in known]:
        sys.stderr.write(f"there is no part '{unknown[0]}'; expected some of {', '.join(known)}\n")
        return 2
    parts = given or known
    if not torch.cuda.is_available():
        sys.stderr.write("there is no GPU here\n")
        return 1
    if missing := [status for status in prepare() if not (status.ready or status.by_choice)]:
        sys.stderr.write("".join(f"{status.name}: {status.reason}\n" for status in missing))
        return 1
    with torch.inference_mode():
        called, layers = operations(parts), 0
        for plan in plans(parts):
            stream = c_void_p(torch.cuda.current_stream().cuda_stream)
            for in_bytes in (False, True):
                for step in plan.steps():
                    step(stream, in_bytes)
                    layers += 1
        sys.stdout.write(f"{called} operations and {layers} layers were launched\n")
        if FRAMES in parts:
            frames = frame_kernels(torch.device("cuda"))
            assert frames is not None  # it is ready
            apart = self_test(frames, torch.device("cuda"))
            sys.stdout.write(f"frames are {apart} of 255 apart\n")
        torch.cuda.synchronize()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
