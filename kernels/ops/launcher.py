"""Calls the launchers of a CUDA library through their C names, with tensors as arguments."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int, c_longlong, c_void_p

import torch
from torch import Tensor


class Launcher:
    """The launchers of one CUDA library, for the `launch` of an operation's row.

    Args:
        library: The loaded library.
        device: The CUDA device whose current stream the kernels are launched on.
    """

    def __init__(self, library: ctypes.CDLL, device: torch.device) -> None:
        self._library = library
        self._device = device

    def __call__(self, function: str, *arguments: Tensor | float | None) -> None:
        """Call `int function(arguments..., void* stream)`, which returns a cudaError_t.

        Args:
            function: The C name.
            arguments: A tensor is passed as the address of its first element (`void*`), None as a
                null pointer, a bool as `int`, an int as `long long`, a float as `double`.

        Raises:
            AttributeError: The library has no such function.
            RuntimeError: The launcher returned an error.
        """
        run = getattr(self._library, function)
        with torch.cuda.device(self._device):
            stream = torch.cuda.current_stream().cuda_stream
            error = run(*(_as_c(argument) for argument in arguments), c_void_p(stream))
        if error:
            raise RuntimeError(f"{function} could not be launched: CUDA error {error}")


def _as_c(value: Tensor | float | None) -> c_void_p | c_int | c_longlong | c_double:
    if value is None:
        return c_void_p()
    if isinstance(value, Tensor):
        return c_void_p(value.data_ptr())
    if isinstance(value, bool):
        return c_int(value)
    return c_longlong(value) if isinstance(value, int) else c_double(value)
