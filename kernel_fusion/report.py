"""What runs natively on this machine, what does not, and why: `kf.status()`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from kernels.ops.registry import KernelStatus, statuses


@dataclass(frozen=True, slots=True)
class Status:
    """What every operation runs on, by device. Printed, it is a table.

    Attributes:
        cuda_available: Whether PyTorch sees a GPU.
        extension_loaded: Whether every native kernel for the CPU is in use.
        operations: By type of device, "cpu" and, where there is a GPU, "cuda": what each runs on.
    """

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
    """What every operation runs on here. Loads what is built, and builds nothing.

    Returns:
        The rows of the CPU and, where PyTorch sees a GPU, of that.
    """
    cuda = torch.cuda.is_available()
    found = {device: statuses(device) for device in ("cpu", *(("cuda",) if cuda else ()))}
    return Status(cuda, all_loaded(found["cpu"]), found)


def all_loaded(rows: tuple[KernelStatus, ...]) -> bool:
    """Whether nothing that a device could run natively is missing."""
    return all(row.ready or row.by_choice for row in rows)
