"""Gradients and their sums over rows in one pass, for inputs that are one row or one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.general.elementwise.arguments import new_result, result_type
from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES
from kernels.ops.general.elementwise.layout import StyleforgeColumns, Walk, described, walk
from kernels.ops.general.elementwise.passes import read_by_backward

BYTES = 16  # per load
_ROW, _NUMBER = (1, 0), (0, 0)  # strides of tensors that are broadcast over rows
_LEAST_COLUMNS = 64  # with fewer, a block would have hardly any work


class Columns(NamedTuple):
    """A pass prepared for a layout of the tensors; `struct` has neither addresses nor chunks.

    `shape` and `strides` describe whole gradients, `dtype` also the tensors that kernels read. For
    each sum, `numbers` is whether it is over columns as well.
    """

    struct: StyleforgeColumns
    shape: torch.Size
    strides: tuple[int, ...]
    dtype: torch.dtype
    numbers: tuple[bool, ...]

    @property
    def columns(self) -> int:
        return self.struct.call.sizes[0]

    @property
    def rows(self) -> int:
        return self.struct.call.sizes[1]


def planned(
    grad: Tensor, inputs: Sequence[Tensor], function: str, like: Sequence[Tensor]
) -> Columns | None:
    """Prepare the pass of a call with checked arguments; return None for an unsupported one."""
    row, shape, dtype = FUNCTIONS[function], grad.shape, result_type(inputs)
    given = read_by_backward(function, grad, inputs)
    if dtype == torch.float64 or row.drops or any(x.dtype != dtype for x in given):
        return None
    made = new_result(function, [torch.empty_like(x, device="meta") for x in inputs], shape)
    lies = [(x.shape, x.stride()) for x in given]
    sums = [(x.shape, torch.empty(x.shape, device="meta").stride()) for x in like]
    found = walk(shape, made.stride(), [*lies, *sums])
    read = Walk(found.elements, found.sizes, found.strides[: len(given)])
    if len(found.sizes) != 2 or found.sizes[0] < _LEAST_COLUMNS or read.is_wide:
        return None
    whole, others, sides = read.strides[:2], read.strides[2:], found.strides[len(given) :]
    if not row.of_result and any(strides not in (_ROW, _NUMBER) for strides in others):
        return None
    if any(strides[0] != 1 for strides in whole) or not read.fits(BYTES // dtype.itemsize):
        return None
    if any(strides not in (_ROW, _NUMBER) for strides in sides):
        return None
    struct = StyleforgeColumns(call=described(read, row.number, TYPES[dtype], backward=True))
    numbers = tuple(strides == _NUMBER for strides in sides)
    return Columns(struct, shape, made.stride(), dtype, numbers)


def filled(
    plan: Columns, given: Sequence[Tensor], whole: Sequence[Tensor | None]
) -> StyleforgeColumns | None:
    """Return the struct with addresses; None if an address is not a multiple of 16 bytes.

    `whole` has for each distinct gradient its output tensor or None.
    """
    p = StyleforgeColumns.from_buffer_copy(plan.struct)
    addresses = 0
    for number, x in enumerate(given):
        p.call.inputs[number] = x.data_ptr()
        if p.call.strides[number][0]:
            addresses |= x.data_ptr()
    for number, x in enumerate(whole):
        p.call.outputs[number] = None if x is None else x.data_ptr()
        addresses |= 0 if x is None else x.data_ptr()
    return None if addresses % BYTES else p
