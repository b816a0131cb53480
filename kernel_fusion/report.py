"""The report `kf.status()`: what runs natively on this machine, what does not, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from kernels.table.registry import KernelStatus, statuses


@dataclass(frozen=True, slots=True)
class Status:
    """The way that every operation runs, by device type. Printed, it is a table."""

    cuda_available: bool
    extension_loaded: bool
    operations: Mapping[str, tuple[KernelStatus, ...]]

    def __str__(self) -> str:
        lines = [
            f"CUDA_AVAILABLE: {self.cuda_available}",
            f"EXTENSION_LOADED: {self.extension_loaded}",
        ]
        for device, rows in self.operations.items():
            width = max(len(row.name) for row in rows)
            for row in rows:
                why = f" ({row.reason})" if row.reason else ""
                lines.append(f"{device:4}  {row.name:{width}}  {row.runs}{why}")
        return "\n".join(lines)


def status() -> Status:
    """Return how every operation runs on the CPU and any GPU; loads built kernels, builds none."""
    cuda = torch.cuda.is_available()
    found = {device: statuses(device) for device in ("cpu", *(("cuda",) if cuda else ()))}
    return Status(cuda, all_loaded(found["cpu"]), found)


def all_loaded(rows: tuple[KernelStatus, ...]) -> bool:
    """Return whether a device runs natively everything that it could."""
    return all(row.ready or row.by_choice for row in rows)
