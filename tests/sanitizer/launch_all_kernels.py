"""Launches every CUDA kernel once, on small shapes, for compute-sanitizer to watch.

    compute-sanitizer --tool memcheck python -m tests.sanitizer.launch_all_kernels
    compute-sanitizer --tool initcheck python -m tests.sanitizer.launch_all_kernels
    STYLEFORGE_RACECHECK=1 compute-sanitizer --tool racecheck --kernel-name kns=styleforge \
        python -m tests.sanitizer.launch_all_kernels

Build first (`styleforge doctor` does): under the sanitizer a build takes very long. Racecheck sees
only the threads that arrive at a barrier, so that STYLEFORGE_RACECHECK builds kernels in which all
do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from ctypes import c_void_p
from unittest.mock import patch

import torch
from torch import Tensor

from kernels.network import sm90, sm90_layout
from kernels.network.dispatch import HOPPER, plan_for
from kernels.network.plan import NetworkPlan
from kernels.ops.registry import OPS, prepare
from models.transformer_net import TransformerNetBaseline

SHAPE = 2, 37, 54  # pictures, height, width: nothing is a multiple of a tile
BLOCKS = 2


def operations() -> int:
    """The samples of every operation, in both settings of TF32."""
    count = 0
    for op in OPS.values():
        if not op.cuda or op.mutates:
            continue
        for arguments in op.samples():
            on_gpu = [x.cuda() if isinstance(x, Tensor) else x for x in arguments]
            for tf32 in (False, True):
                torch.backends.cudnn.allow_tf32 = tf32
                op.overload(*on_gpu)
                count += 1
    return count


def plans() -> Iterator[NetworkPlan]:
    """Every plan for this GPU, in every arithmetic; on Hopper also with the tiles that only large
    pictures have."""
    torch.manual_seed(0)
    weights = TransformerNetBaseline(num_residual_blocks=BLOCKS).state_dict()
    device = torch.device("cuda")
    for dtype in (torch.float16, torch.bfloat16):
        yield plan_for(weights, BLOCKS, SHAPE, dtype, device)
        yield plan_for(weights, BLOCKS, SHAPE, dtype, device, general=True)
        yield plan_for(weights, BLOCKS, SHAPE, dtype, device, small=True)
    if torch.cuda.get_device_capability() != HOPPER:
        return
    for tf32 in (False, True):
        yield plan_for(weights, BLOCKS, SHAPE, torch.float32, device, tf32=tf32)
    with patch.object(sm90.layout, "residual_kind", lambda *_: sm90_layout.SAME_LARGE):
        for dtype, tf32 in ((torch.float16, False), (torch.float32, False), (torch.float32, True)):
            yield plan_for(weights, BLOCKS, SHAPE, dtype, device, tf32=tf32)


def main() -> int:
    """Print how many operations and layers were launched; 1 if a kernel is not ready."""
    if not torch.cuda.is_available():
        sys.stderr.write("there is no GPU here\n")
        return 1
    if missing := [status for status in prepare() if not status.ready]:
        sys.stderr.write("".join(f"{status.name}: {status.reason}\n" for status in missing))
        return 1
    with torch.inference_mode():
        called, layers = operations(), 0
        for plan in plans():
            stream = c_void_p(torch.cuda.current_stream().cuda_stream)
            for in_bytes in (False, True):
                for step in plan.steps():
                    step(stream, in_bytes)
                    layers += 1
        torch.cuda.synchronize()
    sys.stdout.write(f"{called} operations and {layers} layers were launched\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
