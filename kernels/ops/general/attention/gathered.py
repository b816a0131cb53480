"""Blocks gathered to places, and the sum over places, which is the gradient of the gather.

FP64 runs in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from ctypes import c_longlong, c_void_p
from typing import Any

import torch
from torch import Tensor

from kernels.table.autograd import Grad, Kept
from kernels.table.calls import TYPES
from kernels.table.launcher import CpuLauncher, CudaLauncher

_THREADS, _LANES, _VECTOR = 256, 32, 16  # threads per GPU block, lanes per warp, bytes per load
_BLOCKS, _VECTORS = 8, 2  # kSumWarps and kSumVectors of the kernel
_PLACES, _OF_PLACE = 4, 2  # kCopyPlaces and kCopyVectors


def inverse_of(places: Tensor, blocks: int) -> tuple[Tensor, Tensor]:
    """Find the places of each block, without waiting for a GPU, from int64 [places].

    Returns the indices of the places, grouped by block and ascending in each group, int64 [places],
    and where each group begins and the last one ends, int64 [blocks + 1].
    """
    of_place, order = places.sort(stable=True)
    each = torch.arange(blocks + 1, device=places.device)
    return order, torch.searchsorted(of_place, each)


def reference(x: Tensor, places: Tensor, order: Tensor, begins: Tensor) -> Tensor:
    _check("gather_blocks", x, begins.numel() - 1, places, order, begins)
    return x[places]


def sum_reference(x: Tensor, places: Tensor, order: Tensor, begins: Tensor) -> Tensor:
    _check("sum_blocks", x, places.numel(), places, order, begins)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    total = wide.new_zeros((begins.numel() - 1, *x.shape[1:]))
    if x.is_cuda:  # it sorts; index_add would add in any order
        total = total.index_put((places,), wide, accumulate=True)
    else:
        total = total.index_add(0, places, wide)
    return total.to(x.dtype)


def gather_on_cpu(
    launch: CpuLauncher, x: Tensor, places: Tensor, order: Tensor, begins: Tensor
) -> Tensor:
    blocks = begins.numel() - 1
    _check("gather_blocks", x, blocks, places, order, begins)
    if x.dtype not in TYPES or not x.numel() or not places.numel():
        return reference(x, places, order, begins)
    x, places = x.contiguous(), places.contiguous()
    out = x.new_empty((places.numel(), *x.shape[1:]))
    numbers = x[0].numel() * x.element_size(), places.numel(), blocks
    _call(launch, "gather_blocks", (x, places, out), numbers)
    return out


def launch_gather(
    launch: CudaLauncher, x: Tensor, places: Tensor, order: Tensor, begins: Tensor
) -> Tensor:
    blocks, count = begins.numel() - 1, places.numel()
    _check("gather_blocks", x, blocks, places, order, begins)
    if x.dtype not in TYPES or not x.numel() or not count:
        return reference(x, places, order, begins)
    x, places, order = x.contiguous(), places.contiguous(), order.contiguous()
    out = x.new_empty((count, *x.shape[1:]))
    size = x[0].numel() * x.element_size()
    common = math.gcd(size, x.data_ptr())
    unit = next(each for each in (_VECTOR, 4, 2) if common % each == 0)
    parts = -(-size // (unit * _LANES * _OF_PLACE))
    grid = -(-(-(-count // _PLACES) * parts * _LANES) // _THREADS)
    numbers = count, blocks, size // unit, parts, unit
    launch("styleforge_gather_blocks", grid, _THREADS, x, places, order, out, *numbers)
    return out


def sum_on_cpu(
    launch: CpuLauncher, x: Tensor, places: Tensor, order: Tensor, begins: Tensor
) -> Tensor:
    _check("sum_blocks", x, places.numel(), places, order, begins)
    if x.dtype not in TYPES or not x.numel():
        return sum_reference(x, places, order, begins)
    x, order, begins, blocks = x.contiguous(), order.contiguous(), begins.contiguous(), len(begins)
    out = x.new_empty((blocks - 1, *x.shape[1:]))
    numbers = TYPES[x.dtype], x[0].numel(), blocks - 1, places.numel()
    _call(launch, "sum_blocks", (x, order, begins, out), numbers)
    return out


def _call(
    launch: CpuLauncher, name: str, tensors: Sequence[Tensor], numbers: Sequence[int]
) -> None:
    types = (c_void_p,) * len(tensors) + (c_longlong,) * len(numbers)
    run = launch.function(f"styleforge_{name}_cpu", c_longlong, *types)
    if run(torch.get_num_threads(), *(x.data_ptr() for x in tensors), *numbers):
        raise ValueError(f"{name}: places, order or begins has an index out of range")


def refuses(**arguments: Any) -> str:
    x: Tensor = arguments["x"]
    return "" if x.dtype in TYPES else f"no native kernel in {x.dtype}; PyTorch's runs"


def launch_sum(
    launch: CudaLauncher, x: Tensor, places: Tensor, order: Tensor, begins: Tensor
) -> Tensor:
    _check("sum_blocks", x, places.numel(), places, order, begins)
    if x.dtype not in TYPES or not x.numel():
        return sum_reference(x, places, order, begins)
    x, blocks = x.contiguous(), begins.numel() - 1
    width = x[0].numel()
    vector = width * x.element_size() % _VECTOR == 0 and x.data_ptr() % _VECTOR == 0
    of_part = _VECTORS * _LANES * (_VECTOR // x.element_size() if vector else 1)
    parts = -(-width // of_part)
    out = x.new_empty((blocks, *x.shape[1:]))
    numbers = blocks, width, parts, vector
    grid = -(-blocks // _BLOCKS) * parts
    name = f"styleforge_sum_blocks_{str(x.dtype).removeprefix('torch.')}"
    launch(name, grid, _THREADS, x, order, begins, out, *numbers)
    return out


def save(arguments: Sequence[Any], _results: Sequence[Tensor]) -> list[Tensor | None]:
    return list(arguments[1:])


def gradients(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    summed: Any = torch.ops.styleforge.sum_blocks
    return summed(grad, *kept.tensors), None, None, None


def gradients_of_sum(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    gather: Any = torch.ops.styleforge.gather_blocks
    return gather(grad, *kept.tensors), None, None, None


def _check(name: str, x: Tensor, count: int, places: Tensor, order: Tensor, begins: Tensor) -> None:
    """Raise ValueError if x does not have `count` entries, or the index tensors do not match it."""
    numbers = places, order, begins
    fits = (
        all(each.dtype == torch.int64 and each.dim() == 1 for each in numbers)
        and order.shape == places.shape
        and begins.numel() > 0
        and x.dim() > 0
        and x.is_floating_point()
    )
    if not fits or x.shape[0] != count or any(each.device != x.device for each in numbers):
        raise ValueError(
            f"{name}: x, places, order and begins are {x.dtype} {list(x.shape)}, "
            f"{list(places.shape)}, {list(order.shape)} and {list(begins.shape)}; expected "
            f"floating [{count}, ...] and int64 [places], [places] and [blocks + 1], on one device"
        )


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield a block without a place, one with one place and one with many."""
    places = torch.tensor([2, 0, 2, 4, 2, 4, *[2] * 40])
    yield from ((x[:5], *rest) for x, *rest in _of_places(places, 5))


def samples_of_sum() -> Iterator[tuple[Any, ...]]:
    """Yield the same places, with sizes that fill vectors and sizes that do not."""
    places = torch.tensor([2, 0, 2, 4, 2, 4, *[2] * 40])
    yield from _of_places(places, 5)


def _of_places(places: Tensor, blocks: int) -> Iterator[tuple[Any, ...]]:
    inverse = inverse_of(places, blocks)
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape in ((3, 8), (5, 3), (9, 40)):
            x = torch.randn(places.numel(), *shape, generator=generator).to(dtype)
            yield x, places, *inverse
