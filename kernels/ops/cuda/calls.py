"""What every call of an operation on a GPU needs: types, memory, and launches that are repeated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernels.driver.sequence import LaunchSequence, place
from kernels.ops.launcher import CudaLauncher

# As include/common/data_type.h numbers them; other types run on PyTorch.
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
MOMENTS_BYTES = 16  # of the statistics of a channel, and of its affine

_SCRATCH, _RESULT, _INPUTS = 0, 1, 2  # slots of addresses
_PART = 256  # bytes: parts of scratch memory begin at multiples of it

Tensors = Sequence[Any]  # of an operation, in order; None where an argument is
# Runs an operation of which everything but the values of its tensors is known.
PreparedCall = Callable[[CudaLauncher, Tensors], Tensor]


def traits(x: Tensor | None) -> tuple[object, ...] | None:
    """What a call depends on of a tensor, but for its values."""
    return None if x is None else (x.dtype, x.shape, x.stride(), x.data_ptr() & 15)


class Picture(NamedTuple):
    """A picture in memory as kernels are told of it.

    Attributes:
        address: Of its first element.
        shape: N, C, H, W.
        strides: In elements.
    """

    address: int
    shape: tuple[int, int, int, int]
    strides: tuple[int, ...]


class Recording:
    """Takes down the launches of a call of an operation.

    Args:
        launch: What the operation is launched with.
        given: Its tensors as kernels read them; the first is a picture.

    Attributes:
        library: The launchers, which only take down what they would launch.
    """

    def __init__(self, launch: CudaLauncher, given: Tensors) -> None:
        self.library: Any = launch.library.recording()
        self._given = given
        self._scratch = 0

    @property
    def dtype(self) -> torch.dtype:
        """Of the first tensor."""
        return self._given[0].dtype

    def input(self, number: int) -> int | None:
        """What stands for the address of a tensor; None, a null pointer, for none."""
        x = self._given[number]
        return None if x is None else place(_INPUTS + number, x.data_ptr())

    def picture(self, number: int) -> Picture:
        """A picture among the tensors."""
        x = self._given[number]
        return Picture(place(_INPUTS + number, x.data_ptr()), _four(x.shape), x.stride())

    def result(self, shape: tuple[int, int, int, int], layout: torch.memory_format) -> Picture:
        """The picture that a call makes and returns."""
        return Picture(place(_RESULT), shape, _strides(shape, layout))

    def between(
        self, shape: tuple[int, int, int, int], layout: torch.memory_format, dtype: torch.dtype
    ) -> Picture:
        """A picture in scratch memory."""
        address = self.scratch(math.prod(shape) * dtype.itemsize)
        return Picture(address, shape, _strides(shape, layout))

    def scratch(self, size: int) -> int:
        """What stands for the address of `size` bytes of scratch memory."""
        address = place(_SCRATCH) + self._scratch
        self._scratch += -(-size // _PART) * _PART
        return address

    def finished(
        self, what: str, result: Picture, convert: Callable[[Tensors], Tensors] | None
    ) -> PreparedCall:
        """What repeats the launches with other tensors.

        Args:
            what: The operation, for the message of an error.
            result: Of `result`.
            convert: Gives an operation's tensors as kernels read them; None where they are so.
        """
        return _Repeated(
            what,
            LaunchSequence(self.library.launches),
            result.shape,
            result.strides,
            self._scratch,
            convert,
        )


def launched(error: int, what: str) -> None:
    """Raise RuntimeError if a launcher of the operation `what` returned an error."""
    if error:
        raise RuntimeError(f"{what} could not be launched: CUDA error {error}")


class _Repeated:
    """A call whose launches were taken down."""

    __slots__ = ("_convert", "_launches", "_scratch", "_shape", "_strides", "_what")

    def __init__(
        self,
        what: str,
        launches: LaunchSequence,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        scratch: int,
        convert: Callable[[Tensors], Tensors] | None,
    ) -> None:
        self._what, self._launches = what, launches
        self._shape, self._strides, self._scratch = shape, strides, scratch
        self._convert = convert

    def __call__(self, launch: CudaLauncher, tensors: Tensors) -> Tensor:
        if self._convert is not None:
            tensors = self._convert(tensors)
        y: Tensor = tensors[0].new_empty_strided(self._shape, self._strides)
        scratch = y.new_empty(self._scratch, dtype=torch.uint8) if self._scratch else None
        addresses = [0 if scratch is None else scratch.data_ptr(), y.data_ptr()]
        addresses += [0 if each is None else each.data_ptr() for each in tensors]
        launched(self._launches(launch.stream, addresses), self._what)
        return y


def _strides(shape: tuple[int, ...], layout: torch.memory_format) -> tuple[int, ...]:
    """Those of a new tensor."""
    return torch.empty(shape, memory_format=layout, device="meta").stride()


def _four(shape: torch.Size) -> tuple[int, int, int, int]:
    n, c, h, w = shape
    return n, c, h, w
