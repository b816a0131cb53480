"""Reads the free memory of a device."""

from __future__ import annotations

import psutil
import torch


def free_bytes(device: torch.device) -> int:
    """Return a device's free memory in bytes; on a GPU, PyTorch's reserved memory is not free."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return int(psutil.virtual_memory().available)
