"""Estimates the memory that the network needs, and reads how much is free."""

from __future__ import annotations

import psutil
import torch

from models.precision import Precision

# Measured memory per pixel of the network's input: baseline 1,130 bytes, fused
# 850; in FP16 on a CPU, where PyTorch unfolds whole layers, 5,500.
BYTES_PER_PIXEL = 1200
BYTES_PER_PIXEL_CPU_FP16 = 6000


def bytes_per_pixel(device: torch.device, precision: Precision) -> int:
    """Return the bytes per pixel of the network's input while it runs, with any kernels."""
    unfolds = device.type == "cpu" and precision.value.dtype is torch.float16
    return BYTES_PER_PIXEL_CPU_FP16 if unfolds else BYTES_PER_PIXEL


def free_bytes(device: torch.device) -> int:
    """Return the free memory on `device` in bytes."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available
