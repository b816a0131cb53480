"""The kernels of transformers on the CPU, thread by thread, except Hopper's.

The library's own launchers launch them as on a GPU, on CPU tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.ops.transformer.launchers import Transformer
from tests.kernels.ops.cuda import emulated_kernels
from tests.kernels.ops.cuda.emulated_kernels import EmulatedKernels


class EmulatedTransformer(Transformer):
    def __init__(self, described: Mapping[str, Any], kernels: EmulatedKernels) -> None:
        self._told: Any = described
        self._library: Any = kernels

    @property
    def kernels(self) -> EmulatedKernels:
        return self._library


def built_or_skipped(folder: Path) -> EmulatedTransformer:
    """Compile every kernel; without a compiler or CUDA's headers, the test is skipped."""
    headers = {
        "include/common/ptx.cuh": '#include "emulated_ptx.h"\n',
        "ops/transformer/attention/ptx.cuh": '#include "emulated_attention_ptx.h"\n',
    }
    first = "emulated_ptx.h", "emulated_attention_ptx.h"
    built = emulated_kernels.built_or_skipped(folder, "transformer", headers, *first)
    return EmulatedTransformer(*built)
