"""Many tensors for one launch: their addresses, dtypes and chunks."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from ctypes import Structure, byref, c_double, c_int, c_longlong, c_uint, c_void_p
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise.functions import TYPES
from kernels.table.launcher import CpuLauncher, CudaLauncher

MOST_TENSORS = 64  # per launch
_is_contiguous: Callable[[Tensor], bool] = Tensor.is_contiguous
CHUNK = 4096  # elements per block
THREADS = 256  # per block of an update; per block of the others, as in optim.cu
THREADS_OF = {
    "styleforge_norm_parts": 128,
    "styleforge_norm_float32": 1024,
    "styleforge_norm_float64": 1024,
}


class StyleforgeTensors(Structure):
    """Mirror of StyleforgeTensors in tensors.h."""

    _fields_ = [
        ("at", (c_void_p * MOST_TENSORS) * 4),
        ("steps", c_void_p * MOST_TENSORS),
        ("counts", c_longlong * MOST_TENSORS),
        ("first", c_uint * MOST_TENSORS),
        ("types", c_int * MOST_TENSORS),
        ("tensors", c_int),
    ]


class StyleforgeUpdate(Structure):
    """Mirror of StyleforgeUpdate in tensors.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("grad_scale", "found_inf")),
        *(
            (name, c_double)
            for name in (
                *("lr", "weight_decay", "beta1", "beta2", "log_beta1", "log_beta2", "eps"),
                *("momentum", "dampening"),
            )
        ),
        *((name, c_int) for name in ("maximize", "decoupled", "nesterov")),
    ]


# Runs a kernel over tensors with this many chunks, and its other arguments.
Submit = Callable[[str, StyleforgeTensors, int, Structure | Tensor, int | float | None], None]


def on_cpu(launch: CpuLauncher) -> Submit:
    def submit(
        name: str,
        tensors: StyleforgeTensors,
        _chunks: int,
        first: Structure | Tensor,
        second: int | float | None,
    ) -> None:
        given = byref(first) if isinstance(first, Structure) else first.data_ptr()
        types: list[type[Any]] = [c_longlong, c_void_p, c_void_p]
        if second is not None:
            types.append(c_double if isinstance(second, float) else c_longlong)
        run = launch.function(name, *types)
        run(
            torch.get_num_threads(),
            byref(tensors),
            given,
            *(() if second is None else (second,)),
        )

    return submit


def on_cuda(launch: CudaLauncher) -> Submit:
    def submit(
        name: str,
        tensors: StyleforgeTensors,
        chunks: int,
        first: Structure | Tensor,
        second: int | float | None,
    ) -> None:
        threads = THREADS_OF.get(name, THREADS)
        launch(name, chunks, threads, tensors, first, *(() if second is None else (second,)))

    return submit


def launches(
    lists: Sequence[Sequence[Tensor]],
    steps: Sequence[Tensor] = (),
    left_out: Container[int] = (),
) -> Iterator[tuple[StyleforgeTensors, int]]:
    """Yield the launches for the tensors of some lists, with the chunks of each.

    Args:
        lists: Lists of one length; the tensors at one index are dense and have one layout.
        steps: For each index an FP32 element on the device, or none.
        left_out: The indices of tensors to skip.
    """
    counts = [x.numel() for x in lists[0]]
    numbers = [at for at, count in enumerate(counts) if count and at not in left_out]
    for at in range(0, len(numbers), MOST_TENSORS):
        part = numbers[at : at + MOST_TENSORS]
        ends = [*accumulate(-(-counts[number] // CHUNK) for number in part)]
        p, taken = StyleforgeTensors(tensors=len(part)), slice(len(part))
        p.counts[taken] = [counts[number] for number in part]
        p.first[taken] = [0, *ends[:-1]]
        p.types[taken] = [TYPES[lists[0][number].dtype] for number in part]
        for place, tensors in enumerate(lists):
            p.at[place][taken] = [tensors[number].data_ptr() for number in part]
        if steps:
            p.steps[taken] = [steps[number].data_ptr() for number in part]
        yield p, ends[-1]


def check(name: str, **lists: Sequence[Tensor]) -> None:
    """Raise ValueError unless tensors of one index share shape and dtype, all on one device."""
    (first, of), *others = lists.items()
    if _fits(list(lists.values())):
        return
    for number, x in enumerate(of):
        if x.dtype not in TYPES:
            raise ValueError(
                f"{name}: {first}[{number}] is a tensor of {x.dtype}; expected float16, bfloat16, "
                "float32 or float64"
            )
        if x.device != of[0].device:
            raise ValueError(
                f"{name}: {first}[{number}] is on {x.device}; expected {of[0].device}, where "
                f"{first}[0] is"
            )
    for other, tensors in others:
        if len(tensors) != len(of):
            raise ValueError(f"{name}: {other} has {len(tensors)} tensors; expected {len(of)}")
        for number, (x, y) in enumerate(zip(of, tensors, strict=True)):
            if (y.shape, y.dtype, y.device) != (x.shape, x.dtype, x.device):
                raise ValueError(
                    f"{name}: {other}[{number}] is {y.dtype} {list(y.shape)} on {y.device}; "
                    f"expected {x.dtype} {list(x.shape)} on {x.device}, as {first}[{number}]"
                )


def _fits(lists: Sequence[Sequence[Tensor]]) -> bool:
    """Return whether `check` would pass, as fast as possible: a step has hundreds of tensors."""
    shapes, *other_shapes = ([x.shape for x in of] for of in lists)
    dtypes, *other_dtypes = ([x.dtype for x in of] for of in lists)
    return (
        all(each == shapes for each in other_shapes)
        and all(each == dtypes for each in other_dtypes)
        and set(dtypes) <= TYPES.keys()
        and len({x.device for of in lists for x in of}) < 2
    )


def apart(lists: Sequence[Sequence[Tensor]]) -> list[int]:
    """Return the indices of tensors whose layouts differ, which no kernel supports."""
    if all(all(map(_is_contiguous, tensors)) for tensors in lists):
        return []
    return [at for at, tensors in enumerate(zip(*lists, strict=True)) if not lie_alike(*tensors)]


def lie_alike(*tensors: Tensor) -> bool:
    """Return whether tensors of one shape are dense and have their elements in one order."""
    first = tensors[0]
    if all(x.is_contiguous() for x in tensors):
        return True
    if any(x.stride() != first.stride() for x in tensors):
        return False
    order = sorted(range(first.dim()), key=first.stride, reverse=True)
    return first.permute(order).is_contiguous()
