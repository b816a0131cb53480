"""The public door to the fused operations: `import kernel_fusion as kf`.

`kf.ops.*` always work: native where a kernel is built, the PyTorch reference elsewhere, which a
warning says once. `kf.kernels.<group>.*` are the native kernels alone, and raise KernelUnavailable
with the reason where they cannot run. `kf.prepare()` builds the kernels, once for a machine; what
is built is loaded by the first call. `kf.statuses(device)` says what each operation runs on there,
`kf.CUDA_AVAILABLE` whether PyTorch sees a GPU, and `kf.EXTENSION_LOADED` whether every native
kernel for the CPU is in use now.
"""

from __future__ import annotations

from typing import Any

import torch

from kernel_fusion import kernels as kernels
from kernel_fusion import ops as ops
from kernels.ops.registry import KernelStatus as KernelStatus
from kernels.ops.registry import KernelUnavailable as KernelUnavailable
from kernels.ops.registry import NativeKernelWarning as NativeKernelWarning
from kernels.ops.registry import prepare as prepare
from kernels.ops.registry import statuses as statuses

CUDA_AVAILABLE: bool
EXTENSION_LOADED: bool


def __getattr__(name: str) -> Any:
    # Computed when asked: a GPU is not touched, and nothing is built, by importing this.
    if name == "CUDA_AVAILABLE":
        return torch.cuda.is_available()
    if name == "EXTENSION_LOADED":
        return all(status.ready or status.by_choice for status in statuses("cpu"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
