"""Reads how much memory of a device is free."""

from __future__ import annotations

import psutil
import torch


def free_bytes(device: torch.device) -> int:
    """The free memory of a device in bytes; on a GPU what PyTorch keeps for itself is not free."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return int(psutil.virtual_memory().available)
