"""Thread by thread on the CPU, the kernels around an enlarging convolution do what is meant.

They use neither shared memory nor barriers, so that a loop over threads is all they need.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from ctypes import c_double, c_int, c_longlong, c_void_p
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from kernels.ops import enlarging
from kernels.ops.enlarging_reference import interleave_reference, pad_reference
from tests.kernels.driver import stubs

MAIN = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#undef __device__
#undef __global__
#undef __forceinline__
#undef __launch_bounds__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
static uint3 block_index, thread_index;
static dim3 block_size;
#define blockIdx block_index
#define threadIdx thread_index
#define blockDim block_size
#include "enlarging.cu"

template <typename Kernel, typename... Arguments>
static void every_thread(Kernel kernel, int x, int y, int z, int threads, Arguments... arguments) {
    block_size = dim3(threads);
    for (blockIdx.z = 0; blockIdx.z < static_cast<unsigned>(z); ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < static_cast<unsigned>(y); ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < static_cast<unsigned>(x); ++blockIdx.x)
                for (threadIdx.x = 0; threadIdx.x < static_cast<unsigned>(threads); ++threadIdx.x)
                    kernel(arguments...);
}

using Number = long long;

extern "C" void run_styleforge_enlarging_pad(int x, int y, int z, int threads, const void* from,
                                             void* to, Number type, int vectors, Number h,
                                             Number w, Number c) {
    every_thread(styleforge_enlarging_pad, x, y, z, threads, from, to, type, vectors, h, w, c);
}

extern "C" void run_styleforge_enlarging_interleave(int x, int y, int z, int threads,
                                                    const void* from, const void* skip, void* to,
                                                    Number type, int vectors, Number h, Number w,
                                                    Number c, Number sample, Number row,
                                                    Number column) {
    every_thread(styleforge_enlarging_interleave, x, y, z, threads, from, skip, to, type, vectors,
                 h, w, c, sample, row, column);
}
"""
TOLERANCE = {torch.float32: 1e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}


class Launcher:
    """In place of a CudaLauncher; it keeps what was launched."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.vectors: list[bool] = []

    def __call__(
        self, kernel: str, grid: tuple[int, int, int], threads: int, *arguments: Any
    ) -> None:
        self.vectors += [given for given in arguments if isinstance(given, bool)]
        run = getattr(self._library, f"run_{kernel}")
        run(*map(c_int, (*grid, threads)), *map(_as_c, arguments))


def _as_c(value: Any) -> Any:
    """As CudaLauncher passes it."""
    if value is None or isinstance(value, Tensor):
        return c_void_p(None if value is None else value.data_ptr())
    if isinstance(value, bool):
        return c_int(value)
    return c_longlong(value) if isinstance(value, int) else c_double(value)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("enlarging")
    main, built = folder / "main.cpp", folder / "enlarging.so"
    main.write_text(MAIN)
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    flags = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC"]
    folders = [f"-I{path}" for path in (FOLDER, *stubs.headers())]
    command = [compiler, *flags, *folders, "-o", str(built), str(main)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ctypes.CDLL(str(built))


@pytest.fixture
def launch(library) -> Launcher:
    return Launcher(library)


def holds(
    launched: Callable[..., None], meant: Callable[..., None], samples: Iterator[tuple[Any, ...]]
) -> int:
    """Compare on every sample; gives their number."""
    count = 0
    for *given, out in samples:
        out.fill_(float("nan"))
        wanted = torch.zeros_like(out)
        meant(*given, wanted)
        launched(*given, out)
        tolerance = TOLERANCE[out.dtype]
        torch.testing.assert_close(out, wanted, atol=tolerance, rtol=tolerance)
        count += 1
    return count


def test_the_margin_is_that_of_the_reference(launch):
    def pad(x: Tensor, out: Tensor) -> None:
        enlarging._launch_pad(launch, x, out)

    assert holds(pad, pad_reference, enlarging._samples_pad()) == 12
    assert set(launch.vectors) == {False, True}


def test_phases_are_joined_as_by_the_reference(launch):
    def interleave(z: Tensor, skip: Tensor | None, out: Tensor) -> None:
        enlarging._launch_interleave(launch, z, skip, out)

    assert holds(interleave, interleave_reference, enlarging._samples_interleave()) == 36
    assert set(launch.vectors) == {False, True}


@pytest.mark.parametrize("at", [0, 1, 2, -1])
def test_what_is_not_finite_reaches_only_what_is_made_of_it(launch, at):
    x = torch.zeros(1, 8, 6, 6, dtype=torch.float16).contiguous(memory_format=torch.channels_last)
    x[..., at, 3] = torch.inf
    out = torch.zeros(1, 8, 14, 14, dtype=torch.float16)
    out = out.contiguous(memory_format=torch.channels_last)
    enlarging._launch_pad(launch, x, out)
    rows = (~out[0, 0, :, 7].isfinite()).nonzero().flatten().tolist()
    assert rows == {0: [0, 1, 2, 3, 4], 1: [0, 1, 2, 5], 2: [6], -1: [9, 10, 11, 12, 13]}[at]
    assert bool(out[..., 4:10].isfinite()[..., [0, 1, 2, 4, 5]].all())
