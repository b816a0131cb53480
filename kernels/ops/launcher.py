"""Calls functions and kernels of a native library by their C names, with tensors as arguments."""

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

MOST_CALLS = 4096  # that a launcher remembers
_NUMBERS = frozenset({int, float, bool, type(None)})
T = TypeVar("T")
P = ParamSpec("P")
Argument = Tensor | float | Structure | None  # or an int or a bool, numbers to Python


_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_autocast_enabled: Callable[[], bool] = _torch._is_any_autocast_enabled
_autocast_disabled: Callable[[], AbstractContextManager[None]] = _torch._DisableAutocast


def without_autocast(run: Callable[P, T]) -> Callable[P, T]:
    """The same function, in which no device casts.

    A launcher passes addresses, and with them the dtypes that arguments have. PyTorch's products
    would come out in 16 bits under autocast, and a kernel that was told FP32 would read beside
    them.
    """

    @functools.wraps(run)
    def plain(*args: P.args, **kwargs: P.kwargs) -> T:
        if not _autocast_enabled():
            return run(*args, **kwargs)
        with _autocast_disabled():
            return run(*args, **kwargs)

    return plain


class Calls:
    """What operations found out about their calls, for the next ones like them.

    Attributes:
        calls: What was kept; read only.
    """

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls: dict[Hashable, Any] = {}

    def keep(self, key: Hashable, call: T) -> T:
        """Keep in `calls` what was found out about a call, for the next one with the same key.

        Args:
            key: What `call` follows from.
            call: Of any type.

        Returns:
            `call`.
        """
        if len(self.calls) >= MOST_CALLS:  # sizes that never return would fill the memory
            self.calls.clear()
        self.calls[key] = call
        return call


class CpuLauncher(Calls):
    """The functions of one CPU library, for the `launch_cpu` of an operation's row.

    Args:
        library: The loaded library.

    Attributes:
        library: The loaded library.
    """

    __slots__ = ("_functions", "library")

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__()
        self.library = library
        self._functions: dict[str, Callable[..., int]] = {}

    def function(self, name: str, *types: type[Any]) -> Callable[..., int]:
        """`int name(types...)` as ctypes has it, to be called without checks.

        For operations whose calls have to be short: what an argument is, and what the function
        returns, is left to the caller.

        Args:
            name: The C name.
            types: Of the arguments, from ctypes.

        Raises:
            AttributeError: The library has no such function.
        """
        found = self._functions.get(name)
        if found is None:
            # Another launcher may declare other types: what the CDLL has of the name is shared.
            prototype: Any = ctypes.CFUNCTYPE(c_int, *types)
            address = ctypes.cast(getattr(self.library, name), c_void_p).value
            found = self._functions[name] = prototype(address)
        return found

    def __call__(self, function: str, *arguments: Argument) -> None:
        """Call `int function(long long threads, arguments...)`, which returns 0 or an error.

        Args:
            function: The C name.
            arguments: A tensor is passed as the address of its first element (`void*`), None as a
                null pointer, a bool as `int`, an int as `long long`, a float as `double`. Every
                call passes the same types, but for None in place of a tensor.

        Raises:
            AttributeError: The library has no such function.
            MemoryError: There was not enough memory.
        """
        run = self._functions.get(function)
        if run is None:
            run = self.function(function, c_longlong, *map(_c_type, arguments))
        # Asking whether something is a Tensor takes longer than asking for its exact type.
        values: list[Any] = [_address(x) if type(x) not in _NUMBERS else x for x in arguments]
        if run(torch.get_num_threads(), *values):
            raise MemoryError(f"{function}: not enough memory")


@dataclass(frozen=True, slots=True)
class Gpu:
    """What launchers have to know of a GPU.

    Attributes:
        index: What PyTorch calls it.
        multiprocessors: How many it has.
        major: Of its compute capability.
        shared: Bytes of shared memory of a multiprocessor.
    """

    index: int
    multiprocessors: int
    major: int
    shared: int = 0

    @classmethod
    def of(cls, index: int) -> Gpu:
        """The GPU that PyTorch calls cuda:`index`."""
        cuda: Any = torch.cuda  # PyTorch gives no type to what this returns
        found = cuda.get_device_properties(index)
        shared = found.shared_memory_per_multiprocessor
        return cls(index, found.multi_processor_count, found.major, shared)


class CudaLauncher(Calls):
    """A CUDA library on one GPU, for the `launch_cuda` of an operation's row.

    Args:
        library: What the library's images were made into on that GPU: a DriverLibrary or, of a
            library with launchers of its own, these.
        gpu: The GPU that is current when an operation runs.

    Attributes:
        library: The same.
        gpu: The GPU.
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
            kernel: The C name.
            blocks: How many along x, or along x, y and z; with none, nothing is launched.
            threads: Of a block.
            arguments: A tensor is passed as the address of its first element (`T*`), None as a null
                pointer, a bool as `int`, an int as `long long`, a float as `double`, a struct as it
                is. The kernel has to declare these types: the driver copies as many bytes as it
                declares.
            overlap: Whether it may start before the kernel ahead of it has ended, for which it
                waits by pdl_wait(); the same in every call with the same `threads`, as what
                follows.
            shared: Bytes of dynamic shared memory of a block.
            cooperative: Whether blocks wait for one another, so that all of them run at once.

        Raises:
            AttributeError: The library has no such kernel.
            BuildError: The GPU cannot run it.
            RuntimeError: It could not be launched.
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
    """The GPU that is current, of which there has to be one."""
    # torch.cuda.current_device asks first whether CUDA is in use.
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
