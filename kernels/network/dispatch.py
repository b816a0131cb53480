"""The door to the whole network on a CUDA device: whether it runs there, and the plan that does."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.jit import build
from kernels.network.plan import NetworkPlan
from kernels.network.sm80 import DTYPES, SHARED_SMALL, Sm80Plan
from kernels.network.sm90 import Sm90Plan
from kernels.ops.registry import NETWORK

HOPPER = (9, 0)  # its kernels use instructions that only this compute capability has


def unavailable_reason(device: torch.device, dtype: torch.dtype) -> str:
    """Why the native network cannot run there, in words; empty if it can. Builds nothing."""
    if device.type != "cuda":
        return f"no native network for the {device.type.upper()}"
    properties = torch.cuda.get_device_properties(device)
    capability = (properties.major, properties.minor)
    if capability < (8, 0):
        return "the native kernels need a GPU of compute capability 8.0; runs layer by layer"
    if capability != HOPPER:
        if dtype not in DTYPES:
            return "the native kernels for FP32 need a Hopper GPU; runs layer by layer"
        if properties.shared_memory_per_block_optin < SHARED_SMALL:
            return (
                "this GPU has too little shared memory for the native kernels; runs layer by layer"
            )
    elif dtype not in (*DTYPES, torch.float32):
        return f"no native network in {str(dtype).removeprefix('torch.')}; runs layer by layer"
    return build.reason(NETWORK)


def plan_for(
    weights: Mapping[str, Tensor],
    num_residual_blocks: int,
    shape: tuple[int, int, int],  # N, H, W
    dtype: torch.dtype,
    device: torch.device,
    library: ctypes.CDLL | None = None,
    *,
    tf32: bool = False,
    general: bool = False,
    small: bool = False,
) -> NetworkPlan:
    """The fastest plan for the GPU.

    `tf32`: FP32 may be multiplied with the ten bits of TF32. `general`: not the plan for Hopper;
    `small`: moreover as on a GPU with little shared memory.
    """
    library = library or build.handle(NETWORK)
    arguments = weights, num_residual_blocks, shape, dtype, device, library
    if torch.cuda.get_device_capability(device) == HOPPER and not (general or small):
        return Sm90Plan(*arguments, tf32)
    return Sm80Plan(*arguments, small)
