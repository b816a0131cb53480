"""Launches every CUDA kernel once, on small shapes, for compute-sanitizer to watch.

    compute-sanitizer --tool memcheck python -m tests.sanitizer.launch_all_kernels
    compute-sanitizer --tool initcheck python -m tests.sanitizer.launch_all_kernels
    STYLEFORGE_BUILD=1 STYLEFORGE_RACECHECK=1 compute-sanitizer --tool racecheck \
        --kernel-name kns=styleforge python -m tests.sanitizer.launch_all_kernels

Build first (`styleforge doctor` does, with the same variables): a build under the sanitizer is very
slow. Racecheck sees only the threads that arrive at a barrier, so STYLEFORGE_RACECHECK builds
kernels in which all threads do.

Names select the parts to launch: families of operations, plans of the network, or "frames". The
program waits for each sample of an operation and each layer, so that an error has its name, such as
"fused_ffn_forward 3: CUDA error". If the tool cannot handle a kernel, leave that kernel out:

    python -m tests.sanitizer.launch_all_kernels transformer --without "fused_attention*"
    python -m tests.sanitizer.launch_all_kernels sm90 --only "residual blocks/*"
"""

from __future__ import annotations

import argparse
import fnmatch
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
from kernels.self_test.frames import self_test
from kernels.self_test.network import random_weights
from kernels.table.autograd import tensors_of
from kernels.table.registry import OPS, Operation, prepare
from tests.sanitizer.watch import Watch
from utils.tf32 import tf32_allowed

SHAPE = 2, 37, 54  # pictures, height, width: none is a multiple of a tile
BLOCKS = 2
FRAMES = "frames"


def samples_on_gpu(op: Operation, device: torch.device) -> Iterator[list[Any]]:
    """Yield an operation's samples, and FP32 ones also in FP64 if it has kernels for that."""

    def moved(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
        if isinstance(value, list):
            return [moved(each, change) for each in value]
        return change(value) if isinstance(value, Tensor) else value

    def wide(x: Tensor) -> Tensor:
        # optimizers' numbers, such as their steps, are FP32 whatever the tensors' dtype
        number = op.group == "optim" and x.numel() == 1
        return x.to(device, torch.float64 if x.is_floating_point() and not number else None)

    takes_fp64 = op.cuda is not None and torch.float64 in op.cuda.dtypes
    for arguments in op.samples():
        yield [moved(x, lambda x: x.to(device)) for x in arguments]
        first = next(tensors_of(arguments))
        if takes_fp64 and first.dtype == torch.float32:
            yield [moved(x, wide) for x in arguments]


def operations(parts: Sequence[str], watch: Watch, device: torch.device) -> None:
    """Launch the samples of the operations in some families, in both settings of TF32."""
    for op in OPS.values():
        if not op.cuda or op.family not in parts or not watch.wants(op.name):
            continue
        for number, given in enumerate(samples_on_gpu(op, device)):
            for allowed in (False, True):
                with tf32_allowed(allowed):
                    watch.launch("operations", op.name, number, partial(op.overload, *given))
                if watch.is_lost:
                    break  # nothing more can be moved to the GPU
            if watch.is_lost:
                break


def plans(parts: Sequence[str]) -> Iterator[tuple[str, NetworkPlan]]:
    """Yield a name and a plan for every network, backend in `parts`, and precision.

    Plans use the tiles of small and of large pictures, with residual layers joined if possible, and
    separate.
    """
    device = torch.device("cuda")
    library = dispatch.shipped(device)
    for kind, known in WITH_KERNELS.items():
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
            mode = " INT8" if int8 else " TF32" if tf32 else ""
            what = f"{name} {kind} {dtype}".replace("torch.", "") + mode
            make = partial(plan_for, weights, network, SHAPE, dtype, device, tf32=tf32, int8=int8)
            yield what, make(backend=name)
            if name == "sm90" and dtype is torch.float16:
                with sm90.layers_apart():
                    yield f"{what} apart", make(backend=name)
            with (
                sm90.layers_apart(),
                patch.object(sm90.layout, "residual_conv", _large_tiles),
                patch.object(sm80, "COST_OF_WIDE_TILE", 0),
            ):
                yield f"{what} large tiles", make(backend=name)


def _large_tiles(_size: tuple[int, int], _blocks: int, precision: Sm90Precision) -> Sm90Conv:
    return precision.convs["same_large"]


def layers(parts: Sequence[str], watch: Watch) -> None:
    """Launch the layers of some backends' plans, with pictures of numbers and of bytes."""
    for what, plan in plans(parts):
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        for in_bytes in (False, True):
            for layer, steps in plan._layers.items():
                if not watch.wants(layer):
                    continue
                for number, step in enumerate(steps):
                    name = f"{what}{' bytes' if in_bytes else ''} {layer}"
                    watch.launch("layers", name, number, partial(step, stream, in_bytes))
        if watch.is_lost:
            break  # no more plans can be created


def frames() -> None:
    """Launch the kernels around the network and compare them with OpenCV's results."""
    kernels = frame_kernels(torch.device("cuda"))
    assert kernels is not None  # the library is ready
    apart = self_test(kernels, torch.device("cuda"))
    sys.stdout.write(f"frames are {apart} of 255 apart\n")


def main(given: Sequence[str]) -> int:
    """Print the numbers of launches; return 1 if a kernel failed or is not ready."""
    parser = argparse.ArgumentParser(prog="launch_all_kernels", description=__doc__)
    parser.add_argument("parts", nargs="*", help="what is launched (default: everything)")
    names = "operations, or layers such as 'encoder/conv1', by shell patterns"
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help=names)
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help=names)
    chosen = parser.parse_args(given)
    known = [*dict.fromkeys(op.family for op in OPS.values()), *(x.name for x in BACKENDS), FRAMES]
    if unknown := [name for name in chosen.parts if name not in known]:
        sys.stderr.write(f"there is no part '{unknown[0]}'; expected some of {', '.join(known)}\n")
        return 2
    named = [op.name for op in OPS.values() if op.cuda] + [FRAMES]
    for pattern in (*chosen.only, *chosen.without):
        # Layers are known only once a plan exists.
        if "/" not in pattern and not fnmatch.filter(named, pattern):
            sys.stderr.write(f"there is no operation '{pattern}'\n")
            return 2
    parts = chosen.parts or known
    if not torch.cuda.is_available():
        sys.stderr.write("there is no GPU here\n")
        return 1
    if missing := [status for status in prepare() if not (status.ready or status.by_choice)]:
        sys.stderr.write("".join(f"{status.name}: {status.reason}\n" for status in missing))
        return 1
    watch = Watch(torch.cuda.synchronize, chosen.only, chosen.without)
    with torch.inference_mode():
        operations(parts, watch, torch.device("cuda"))
        if not watch.is_lost:
            layers(parts, watch)
        if FRAMES in parts and watch.wants(FRAMES):
            watch.launch(FRAMES, FRAMES, 0, frames)
    counts = (watch.launched.get(kind, 0) for kind in ("operations", "layers"))
    sys.stdout.write("{} operations and {} layers were launched\n".format(*counts))
    sys.stdout.write(watch.report())
    return 1 if watch.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
