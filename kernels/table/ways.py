"""The kernels of an operation below the dispatcher: its launch on each device, or its reference."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.table.autograd import tensors_of
from kernels.table.launcher import CpuLauncher, CudaLauncher, Gpu, current_device
from kernels.table.parts import Cpu, Cuda
from kernels.table.signature import Tails
from kernels.table.status import use_native, warn

R = TypeVar("R")


def on_cpu(way: Cpu, reference: Callable[..., R], tails: Tails) -> Callable[..., R] | None:
    """Return the kernel for CPU tensors: the library's functions, or the reference without it.

    None without a launch. A call may omit trailing arguments with defaults, `tails`.
    """
    library, launch = way.library, way.launch
    if launch is None:
        return None
    launcher: CpuLauncher | None = None

    @functools.wraps(reference)
    def run(*args: Any) -> R:
        nonlocal launcher
        if build.reason(library) and not use_native(library):
            return reference(*args, *tails[len(args)])
        loaded = build.handle(library)
        if launcher is None or launcher.library is not loaded:
            launcher = CpuLauncher(loaded)
        return launch(launcher, *args, *tails[len(args)])

    return run


def on_cuda(way: Cuda | None, reference: Callable[..., R], tails: Tails) -> Callable[..., R] | None:
    """Return the kernel for CUDA tensors: the library's launchers, or the reference without it.

    None without a launch. A call may omit trailing arguments with defaults, `tails`.
    """
    if way is None or way.launch is None:
        return None
    library, launch = way.library, way.launch
    # by GPU index, with the library each was made from
    launchers: dict[int, tuple[Any, CudaLauncher | None]] = {}

    @functools.wraps(reference)
    def run(*args: Any) -> R:
        args += tails[len(args)]
        if build.reason(library) and not use_native(library):
            return reference(*args)
        first: Any = args[0]
        if not isinstance(first, torch.Tensor):
            first = next(tensors_of(args))
        index = first.get_device()
        loaded = build.handle(library)
        found, launcher = launchers.get(index, (None, None))
        if found is not loaded:
            launcher = _launcher_on(library, loaded, first.device)
            launchers[index] = loaded, launcher
        if launcher is None:
            return reference(*args)
        if index == current_device():
            return launch(launcher, *args)
        with torch.cuda.device(index):
            return launch(launcher, *args)

    return run


def _launcher_on(library: str, loaded: Any, device: torch.device) -> CudaLauncher | None:
    """Return the library on a GPU; warn and return None if no image supports that GPU."""
    try:
        return CudaLauncher(loaded.on(device), Gpu.of(device.index))
    except BuildError as error:
        warn(f"{library} on {device}", str(error))
        return None
