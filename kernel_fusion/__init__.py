"""The public interface of the fused operations: `import kernel_fusion as kf`.

`kf.ops.*` run everywhere: as native kernels if these are built, otherwise as PyTorch reference
implementations, with one warning. `kf.kernels.<group>.*` are the native kernels alone; they raise
KernelUnavailable with the reason if they cannot run. `kf.prepare()` builds the kernels, once per
machine; the first call of an operation loads them. `kf.status()` returns, and prints as a table,
what runs natively here, what does not, and why; `kf.statuses(device)` reports one device.
`kf.optim` has optimizers and `kf.modules` has modules made of these operations.
`kf.auto_convert_model` converts models. `kf.CUDA_AVAILABLE` is whether PyTorch sees a GPU,
`kf.EXTENSION_LOADED` whether every native kernel for the CPU is in use; both are computed on
access.
"""

from __future__ import annotations

from typing import Any

import torch

from kernel_fusion import auto_convert as auto_convert
from kernel_fusion import kernels as kernels
from kernel_fusion import modules as modules
from kernel_fusion import ops as ops
from kernel_fusion import optim as optim
from kernel_fusion.auto_convert import auto_convert_model as auto_convert_model
from kernel_fusion.report import Status as Status
from kernel_fusion.report import all_loaded
from kernel_fusion.report import status as status
from kernels.table.registry import KernelStatus as KernelStatus
from kernels.table.registry import KernelUnavailable as KernelUnavailable
from kernels.table.registry import NativeKernelWarning as NativeKernelWarning
from kernels.table.registry import prepare as prepare
from kernels.table.registry import statuses as statuses

CUDA_AVAILABLE: bool
EXTENSION_LOADED: bool


def __getattr__(name: str) -> Any:
    # Computed on access, because importing this initializes no GPU and loads no kernel.
    if name == "CUDA_AVAILABLE":
        return torch.cuda.is_available()
    if name == "EXTENSION_LOADED":
        return all_loaded(statuses("cpu"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
