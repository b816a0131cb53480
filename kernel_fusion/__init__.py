"""The public door to the fused operations: `import kernel_fusion as kf`.

`kf.ops.*` always work: native where a kernel is loaded, the PyTorch reference elsewhere.
`kf.kernels.<group>.*` are the native kernels alone, and raise KernelUnavailable with the reason
where they cannot run. `kf.CUDA_AVAILABLE` says whether PyTorch sees a GPU, and
`kf.EXTENSION_LOADED` whether every native kernel for the CPU is in use now (see `kf.prepare`).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from kernels import ops as ops
from kernels.ops.native import GROUPS
from kernels.ops.registry import KernelUnavailable as KernelUnavailable
from kernels.ops.registry import prepare as prepare
from kernels.ops.registry import statuses as statuses

kernels = SimpleNamespace(**GROUPS)

CUDA_AVAILABLE: bool
EXTENSION_LOADED: bool


def __getattr__(name: str) -> Any:
    # Computed when asked: a GPU is not touched, and nothing is built, by importing this.
    if name == "CUDA_AVAILABLE":
        return torch.cuda.is_available()
    if name == "EXTENSION_LOADED":
        return all(status.ready for status in statuses("cpu"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
