"""Elementwise functions on a GPU, in every floating dtype that PyTorch computes with."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from torch import Tensor

from kernels.ops.cuda.calls import launched
from kernels.ops.cuda.library import LibraryKernels
from kernels.ops.elements import passes
from kernels.ops.elements.layout import StyleforgeElements
from kernels.ops.elements.passes import Pass
from kernels.ops.launcher import CudaLauncher


def forward(
    launch: CudaLauncher,
    function: str,
    inputs: Sequence[Tensor],
    p: float = 0.0,
    state: Tensor | None = None,
) -> Tensor:
    """As `kernels.ops.elements.reference.forward`."""
    return passes.forward(launch, functools.partial(_submit, launch), function, inputs, p, state)


def backward(
    launch: CudaLauncher,
    grad: Tensor,
    inputs: list[Tensor],
    function: str,
    wanted: list[bool],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """As `kernels.ops.elements.reference.backward`."""
    submit = functools.partial(_submit, launch)
    return passes.backward(launch, submit, grad, inputs, function, wanted, p, state)


def _submit(launch: CudaLauncher, prepared: Pass, p: StyleforgeElements) -> None:
    library: LibraryKernels = launch.library
    dtype = str(prepared.dtype).removeprefix("torch.")
    error = library.elements(p, prepared.walk, dtype, launch.gpu.multiprocessors, launch.stream)
    launched(error, "elementwise")
