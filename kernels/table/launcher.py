"""Calls of a native library's functions and kernels by C name, with tensors as arguments."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from ctypes import Structure, c_double, c_int, c_longlong, c_void_p
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from kernels.driver.launch import Kernel
from kernels.driver.library import DriverLibrary
from utils.cuda_streams import raw_stream

MOST_CALLS = 4096  # most calls in a launcher's cache
_NUMBERS = frozenset({int, float, bool, type(None)})
T = TypeVar("T")
P = ParamSpec("P")
Argument = Tensor | float | Structure | None  # or an int or a bool, numbers to Python


_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_autocast_enabled: Callable[[], bool] = _torch._is_any_autocast_enabled
_autocast_disabled: Callable[[], AbstractContextManager[None]] = _torch._DisableAutocast


def without_autocast(run: Callable[P, T]) -> Callable[P, T]:
    """Return the same function with autocast disabled on every device.

    A launcher passes addresses, and assumes the dtypes of the arguments. Under autocast PyTorch's
    products would be 16 bits, and a kernel that expects FP32 would read out of bounds.
    """

    @functools.wraps(run)
    def plain(*args: P.args, **kwargs: P.kwargs) -> T:
        if not _autocast_enabled():
            return run(*args, **kwargs)
        with _autocast_disabled():
            return run(*args, **kwargs)

    return plain


class Calls:
    """A cache of prepared calls, which are read from `calls` and written by `keep`."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls: dict[Hashable, Any] = {}

    def keep(self, key: Hashable, call: T) -> T:
        """Store and return a prepared call; `key` is everything that it depends on."""
        if len(self.calls) >= MOST_CALLS:  # sizes that never recur would fill the memory
            self.calls.clear()
        self.calls[key] = call
        return call


class CpuLauncher(Calls):
    """The functions of one loaded CPU library, for an operation's `launch_cpu`."""

    __slots__ = ("_functions", "library")

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__()
        self.library = library
        self._functions: dict[str, Callable[..., int]] = {}

    def function(self, name: str, *types: type[Any]) -> Callable[..., int]:
        """Return `int name(types...)` as a ctypes function without checks, for types from ctypes.

        It serves operations whose calls must be short. The caller is responsible for the arguments
        and the returned value.

        Raises:
            AttributeError: If the library has no such function.
        """
        found = self._functions.get(name)
        if found is None:
            # Another launcher may declare other types, and the CDLL shares its function of that
            # name.
            prototype: Any = ctypes.CFUNCTYPE(c_int, *types)
            address = ctypes.cast(getattr(self.library, name), c_void_p).value
            found = self._functions[name] = prototype(address)
        return found

    def __call__(self, function: str, *arguments: Argument) -> None:
        """Call `int function(long long threads, arguments...)`, which returns 0 or an error.

        Args:
            arguments: A tensor becomes the address of its first element (`void*`), None a null
                pointer, a bool an `int`, an int a `long long`, a float a `double`. Every call must
                pass the same types, except for None in place of a tensor.

        Raises:
            AttributeError: If the library has no such function.
            MemoryError: If memory is insufficient.
        """
        run = self._functions.get(function)
        if run is None:
            run = self.function(function, c_longlong, *map(_c_type, arguments))
        # An isinstance check for Tensor takes longer than a look at the exact type.
        values: list[Any] = [_address(x) if type(x) not in _NUMBERS else x for x in arguments]
        if run(torch.get_num_threads(), *values):
            raise MemoryError(f"{function}: not enough memory")


@dataclass(frozen=True, slots=True)
class Gpu:
    """The properties of a GPU that launchers need.

    Attributes:
        index: PyTorch's device index.
        major: Major version of the compute capability.
        shared: Bytes of shared memory per multiprocessor.
    """

    index: int
    multiprocessors: int
    major: int
    shared: int = 0

    @classmethod
    def of(cls, index: int) -> Gpu:
        """Return the GPU that PyTorch calls cuda:`index`."""
        cuda: Any = torch.cuda  # PyTorch does not annotate this return value
        found = cuda.get_device_properties(index)
        shared = found.shared_memory_per_multiprocessor
        return cls(index, found.multi_processor_count, found.major, shared)


class CudaLauncher(Calls):
    """A CUDA library on one GPU, for an operation's `launch_cuda`.

    Attributes:
        library: The library on that GPU: a DriverLibrary, or the library's own launchers.
        gpu: The GPU that is current when an operation runs.
    """

    __slots__ = ("_kernels", "gpu", "library")

    def __init__(self, library: Any, gpu: Gpu) -> None:
        super().__init__()
        self.library, self.gpu = library, gpu
        self._kernels: dict[tuple[str, int], Kernel] = {}

    @property
    def stream(self) -> int:
        """PyTorch's current stream on the GPU, a CUstream."""
        return raw_stream(self.gpu.index)

    def __call__(
        self,
        kernel: str,
        blocks: int | tuple[int, int, int],
        threads: int,
        *arguments: Argument,
        overlap: bool = False,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Launch a kernel of a DriverLibrary: `extern "C" __global__ void kernel(arguments...)`.

        Args:
            blocks: Grid size along x, or along x, y and z. With 0 blocks, nothing is launched.
            threads: Threads per block.
            arguments: A tensor becomes the address of its first element (`T*`), None a null
                pointer, a bool an `int`, an int a `long long`, a float a `double`; a struct is
                passed as it is. The kernel must declare these types, because the driver copies the
                number of bytes that it declares.
            overlap: Whether the kernel may start before the previous one has ended, for which it
                waits in pdl_wait(). This and the following arguments must be the same in every call
                with the same `threads`.
            shared: Bytes of dynamic shared memory per block.
            cooperative: Whether blocks wait for each other, so that all of them must run at once.

        Raises:
            AttributeError: If the library has no such kernel.
            BuildError: If the GPU cannot run it.
            RuntimeError: If the launch fails.
        """
        grid = (blocks, 1, 1) if isinstance(blocks, int) else blocks
        if 0 in grid:
            return
        found = self._kernels.get((kernel, threads))
        if found is None:
            library: DriverLibrary = self.library
            source = library.source_of(kernel)
            if source is None:
                raise AttributeError(f"the library has no kernel {kernel}")
            found = library.kernel(
                source, kernel, threads, shared, overlap=overlap, cooperative=cooperative,
                arguments=len(arguments),
            )  # fmt: skip
            self._kernels[kernel, threads] = found
        if error := found(grid, self.stream, *map(_as_c, arguments)):
            raise RuntimeError(f"{kernel} could not be launched: CUDA error {error}")


def current_device() -> int:
    """Return the index of the current GPU, which must exist."""
    # torch.cuda.current_device first checks whether CUDA is in use.
    return torch._C._cuda_getDevice()  # pyright: ignore


_address: Any = Tensor.data_ptr


def _c_type(value: Argument) -> type[Any]:
    if value is None or isinstance(value, Tensor):
        return c_void_p
    if isinstance(value, bool):
        return c_int
    return c_longlong if isinstance(value, int) else c_double


def _as_c(value: Argument) -> Any:
    if isinstance(value, Structure):
        return value
    return _c_type(value)(value.data_ptr() if isinstance(value, Tensor) else value)
