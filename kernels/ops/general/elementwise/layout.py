"""Tensor layouts of an elementwise pass, with adjacent dimensions joined."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import Structure, c_double, c_int, c_longlong, c_uint, c_void_p
from typing import NamedTuple

from torch import Size, Tensor

MOST_DIMS = 8
MOST_NARROW = 2**31 - 1  # elements and offsets that 32 bits can index


class StyleforgeElements(Structure):
    """Mirror of StyleforgeElements in call.h."""

    _fields_ = [
        ("inputs", c_void_p * 4),
        ("outputs", c_void_p * 2),
        ("state", c_void_p),
        ("count", c_longlong),
        ("sizes", c_longlong * MOST_DIMS),
        ("strides", (c_longlong * MOST_DIMS) * 4),
        ("kept_scale", c_double),
        ("dropped", c_uint),
        *((name, c_int) for name in ("dims", "function", "backward", "type", "wide")),
    ]


class StyleforgeColumns(Structure):
    """Mirror of StyleforgeColumns in columns.h."""

    _fields_ = [("call", StyleforgeElements), ("sums", c_void_p * 2), ("chunk", c_longlong)]


class StyleforgeTotals(Structure):
    """Mirror of StyleforgeTotals in columns.h."""

    _fields_ = [
        ("sums", c_void_p * 2),
        ("totals", c_void_p * 2),
        ("chunks", c_longlong),
        ("columns", c_longlong),
        ("numbers", c_int * 2),
    ]


class Walk(NamedTuple):
    """The order in which a pass walks its tensors, which follows the result's memory.

    `sizes` has the dimensions, innermost first; at least one. `strides` has for each input its
    strides along them in elements; 0 where it is broadcast.
    """

    elements: int
    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def is_wide(self) -> bool:
        """Whether an index or an offset needs more than 32 bits."""
        reach = (
            sum((size - 1) * stride for size, stride in zip(self.sizes, strides, strict=True))
            for strides in self.strides
        )
        return max(self.elements, *reach) > MOST_NARROW

    @property
    def is_flat(self) -> bool:
        """Whether all inputs have one dimension, which 32 bits can index."""
        return len(self.sizes) == 1 and all(all(of) for of in self.strides) and not self.is_wide

    def fits(self, width: int) -> bool:
        """Return whether aligned vectors of `width` elements stay within a row."""
        return (
            (len(self.sizes) == 1 or self.sizes[0] % width == 0)
            and all(strides[0] in (0, 1) for strides in self.strides)
            and not any(
                stride % width for strides in self.strides if strides[0] for stride in strides[1:]
            )
        )


def walk(
    shape: Sequence[int], result: Sequence[int], inputs: Sequence[tuple[Size, Sequence[int]]]
) -> Walk:
    """Join the dimensions that are adjacent in memory in every tensor.

    `shape` and `result` are the shape and the strides of the result, which is dense. The inputs,
    given by shape and strides, broadcast to `shape`.
    """
    count = 1
    for size in shape:
        count *= size
    spread = [_spread(len(shape), *each) for each in inputs]
    order = sorted((d for d, size in enumerate(shape) if size != 1), key=lambda d: (result[d], -d))
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in inputs]
    for d in order:
        if sizes and all(
            of[d] == joined[-1] * sizes[-1] for of, joined in zip(spread, strides, strict=True)
        ):
            sizes[-1] *= shape[d]
            continue
        sizes.append(shape[d])
        for of, joined in zip(spread, strides, strict=True):
            joined.append(of[d])
    if not sizes:
        return Walk(count, (count,), tuple((0,) for _ in inputs))
    return Walk(count, tuple(sizes), tuple(map(tuple, strides)))


def _spread(dims: int, shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    own = [0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)]
    return [0] * (dims - len(own)) + own


def described(found: Walk, function: int, kind: int, backward: bool) -> StyleforgeElements:
    """Return the struct of a pass without addresses."""
    p = StyleforgeElements(
        count=found.elements,
        dims=len(found.sizes),
        function=function,
        backward=backward,
        type=kind,
        wide=found.is_wide,
        kept_scale=1.0,
    )
    p.sizes[: len(found.sizes)] = found.sizes
    for number, strides in enumerate(found.strides):
        p.strides[number][: len(strides)] = strides
    return p


def traits(x: Tensor) -> tuple[object, ...]:
    return x.dtype, x.shape, x.stride()
