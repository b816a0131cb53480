"""Reads how much memory is free."""

from __future__ import annotations

import psutil
import torch


def free_bytes(device: torch.device) -> int:
    """Return the free memory on `device` in bytes."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available
