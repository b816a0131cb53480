"""Shared parts of every call on a GPU: dtypes, memory, and repeated launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernels.driver.sequence import LaunchSequence, place
from kernels.table.launcher import CudaLauncher

# Numbered as in include/common/data_type.h; other dtypes run in PyTorch.
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
MOMENTS_BYTES = 16  # of a channel's statistics, and of its affine

_SCRATCH, _RESULT, _INPUTS = 0, 1, 2  # address slots
_PART = 256  # bytes: alignment of the parts of scratch memory

Tensors = Sequence[Any]  # of an operation, in order; None for an omitted one
# Runs an operation of which only the values and addresses of its tensors are unknown. The last
# argument has these addresses by slot, and the call may change it.
PreparedCall = Callable[[CudaLauncher, Tensors, list[int]], Tensor]


def run(
    launch: CudaLauncher,
    prepare: Callable[..., PreparedCall],
    tensors: Tensors,
    options: tuple[object, ...],
) -> Tensor:
    """Run an operation as prepared for an earlier call like this one.

    Args:
        prepare: Called with `launch`, `tensors` and `*options`; checks and records the launches.
        tensors: Their dtypes, shapes, strides and alignment distinguish calls.
        options: Everything else that the call depends on.
    """
    # Every attribute of a tensor is read once: together they take as long as a launch.
    traits: list[object] = [prepare, options]
    addresses = [0, 0]
    for x in tensors:
        if x is None:
            traits.append(None)
            addresses.append(0)
        else:
            address = x.data_ptr()
            traits += x.dtype, x.shape, x.stride(), address & 15, x.get_device()
            addresses.append(address)
    key = tuple(traits)
    call = launch.calls.get(key)
    if call is None:
        call = launch.keep(key, prepare(launch, tensors, *options))
    return call(launch, tensors, addresses)


class Picture(NamedTuple):
    """An image in memory, as kernels see it: `shape` is N, C, H, W; `strides` are in elements."""

    address: int
    shape: tuple[int, int, int, int]
    strides: tuple[int, ...]


class Recording:
    """A recording of the launches of an operation's call; `library` only records them.

    The first of the tensors, given as kernels read them, is an image.

    Raises:
        ValueError: If a tensor is on another device than the first.
    """

    def __init__(self, launch: CudaLauncher, given: Tensors) -> None:
        devices = {x.get_device(): str(x.device) for x in given if x is not None}
        if devices.keys() != {launch.gpu.index}:
            names = " and ".join(sorted(devices.values()))
            raise ValueError(f"the tensors of an operation must be on one device, got {names}")
        self.library: Any = launch.library.recording()
        self._given = given
        self._scratch = 0

    @property
    def dtype(self) -> torch.dtype:
        return self._given[0].dtype

    def input(self, number: int) -> int | None:
        """Return the placeholder for a tensor's address, or None, a null pointer, for no tensor."""
        x = self._given[number]
        return None if x is None else place(_INPUTS + number, x.data_ptr())

    def picture(self, number: int) -> Picture:
        x = self._given[number]
        return Picture(place(_INPUTS + number, x.data_ptr()), _four(x.shape), x.stride())

    def result(self, shape: tuple[int, int, int, int], layout: torch.memory_format) -> Picture:
        """Return the image that a call allocates and returns."""
        return Picture(place(_RESULT), shape, _strides(shape, layout))

    def between(
        self, shape: tuple[int, int, int, int], layout: torch.memory_format, dtype: torch.dtype
    ) -> Picture:
        """Return an image in scratch memory."""
        address = self.scratch(math.prod(shape) * dtype.itemsize)
        return Picture(address, shape, _strides(shape, layout))

    def scratch(self, size: int) -> int:
        """Return the placeholder for the address of `size` bytes of scratch memory."""
        address = place(_SCRATCH) + self._scratch
        self._scratch += -(-size // _PART) * _PART
        return address

    def finished(
        self, what: str, result: Picture, convert: Callable[[Tensors], Tensors] | None
    ) -> PreparedCall:
        """Return a function that repeats the launches with other tensors.

        `convert` converts the tensors to the form that kernels read; None if they have it.
        """
        shape, strides, size = result.shape, result.strides, self._scratch
        launches = LaunchSequence(self.library.launches)

        def call(launch: CudaLauncher, tensors: Tensors, addresses: list[int]) -> Tensor:
            if convert is not None:
                tensors = convert(tensors)
                addresses[_INPUTS:] = [0 if each is None else each.data_ptr() for each in tensors]
            y: Tensor = tensors[0].new_empty_strided(shape, strides)
            addresses[_RESULT] = y.data_ptr()
            if size:
                scratch = y.new_empty(size, dtype=torch.uint8)
                addresses[_SCRATCH] = scratch.data_ptr()
            if error := launches(launch.stream, addresses):
                launched(error, what)
            return y

        return call


def launched(error: int, what: str) -> None:
    """Raise RuntimeError if a launcher of the operation `what` returned an error."""
    if error:
        raise RuntimeError(f"{what} could not be launched: CUDA error {error}")


def _strides(shape: tuple[int, ...], layout: torch.memory_format) -> tuple[int, ...]:
    return torch.empty(shape, memory_format=layout, device="meta").stride()


def _four(shape: torch.Size) -> tuple[int, int, int, int]:
    n, c, h, w = shape
    return n, c, h, w
