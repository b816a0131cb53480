"""A kernel that is prepared once and then launched with a grid, a stream and arguments alone."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from ctypes import addressof, byref, c_uint, c_void_p
from typing import Any

from kernels.driver.driver import (
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    CUDA_ERROR_INVALID_CONTEXT,
    Driver,
    LaunchAttribute,
    LaunchConfig,
)

_Value = ctypes.Array[c_uint]


class Kernel:
    """A kernel of an image, found by `Driver.kernel`. Any thread may launch it.

    Args:
        threads: Threads of a block.
        shared_bytes: Dynamic shared memory of a block.
        overlap: Whether its blocks may start before the previous kernel on the stream has ended
            (programmatic dependent launch); it then waits for that kernel itself.
        cluster: Blocks of a cluster along x; 1 for none.
        cooperative: Whether its blocks wait for one another. They then all run at once, and a grid
            with more blocks than the GPU can run at once is an error.
    """

    __slots__ = (
        "_attributes",
        "_config",
        "_kernel",
        "_launch",
        "_lock",
        "_make_current",
        "_parameters",
        "_reference",
    )

    def __init__(
        self,
        driver: Driver,
        kernel: c_void_p,
        threads: int,
        shared_bytes: int,
        *,
        overlap: bool = False,
        cluster: int = 1,
        cooperative: bool = False,
        arguments: int = 1,
        device: int = 0,
    ) -> None:
        self._launch: Callable[..., int] = driver.launch
        self._make_current = functools.partial(driver.make_current, device)
        self._kernel = kernel
        values = (
            [(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, _value(1))] if overlap else []
        )
        if cluster > 1:
            values.append((CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, _value(cluster, 1, 1)))
        if cooperative:
            values.append((CU_LAUNCH_ATTRIBUTE_COOPERATIVE, _value(1)))
        attributes: Any = (LaunchAttribute * max(1, len(values)))()
        for attribute, (number, value) in zip(attributes, values, strict=False):
            attribute.id, attribute.value = number, value
        self._attributes = attributes  # the config has only its address
        self._config = LaunchConfig(
            1, 1, 1, threads, 1, 1, shared_bytes, None, attributes, len(values)
        )
        self._reference = byref(self._config)
        self._parameters = (c_void_p * arguments)()
        self._lock = threading.Lock()

    def __call__(
        self, grid: tuple[int, int, int], stream: c_void_p | int | None, *arguments: Any
    ) -> int:
        """Launch the kernel on a CUstream and return a CUresult; copies the ctypes `arguments`."""
        config, parameters = self._config, self._parameters
        with self._lock:
            config.grid_x, config.grid_y, config.grid_z = grid
            config.stream = stream
            for at, argument in enumerate(arguments):
                parameters[at] = addressof(argument)
            error = self._launch(self._reference, self._kernel, parameters, None)
            if error == CUDA_ERROR_INVALID_CONTEXT:
                error = self._make_current() or self._launch(
                    self._reference, self._kernel, parameters, None
                )
            return error

    def bound(
        self, grid: tuple[int, int, int], arguments: tuple[Any, ...]
    ) -> Callable[[c_void_p | int | None], int]:
        """Return a launch from a CUstream to a CUresult, for one thread at a time.

        Each launch copies the ctypes `arguments`; `grid` has the blocks along x, y and z.
        """
        config = LaunchConfig.from_buffer_copy(self._config)
        config.grid_x, config.grid_y, config.grid_z = grid
        parameters = (c_void_p * len(arguments))(*map(addressof, arguments))
        launch, reference, kernel = self._launch, byref(config), self._kernel
        make_current = self._make_current
        kept = arguments, self._attributes  # the structs have only addresses

        def launch_on(stream: c_void_p | int | None, _kept: object = kept) -> int:
            config.stream = stream
            error = launch(reference, kernel, parameters, None)
            if error == CUDA_ERROR_INVALID_CONTEXT:
                error = make_current() or launch(reference, kernel, parameters, None)
            return error

        return launch_on


def _value(*numbers: int) -> _Value:
    return (c_uint * 16)(*numbers)
