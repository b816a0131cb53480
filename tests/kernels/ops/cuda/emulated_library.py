"""The kernels for any model on the CPU, thread by thread.

The library's own launchers launch them as on a GPU, on CPU tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.ops.general.elementwise.launchers import LibraryKernels
from tests.kernels.ops.cuda import emulated_kernels
from tests.kernels.ops.cuda.emulated_kernels import EmulatedKernels


class EmulatedLibrary(LibraryKernels):
    def __init__(self, described: Mapping[str, Any], kernels: EmulatedKernels) -> None:
        self._told: Any = described
        self._library: Any = kernels

    @property
    def kernels(self) -> EmulatedKernels:
        return self._library


def built_or_skipped(folder: Path) -> EmulatedLibrary:
    """Compile every kernel; without a compiler or CUDA's headers, the test is skipped."""
    return EmulatedLibrary(
        *emulated_kernels.built_or_skipped(folder, "general", {}, "emulator.h", flag="-O1")
    )
