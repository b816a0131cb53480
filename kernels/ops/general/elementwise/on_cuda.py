"""Elementwise functions on a GPU, in every floating dtype that PyTorch computes with."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise import columns, passes, sums
from kernels.ops.general.elementwise.columns import Columns
from kernels.ops.general.elementwise.launchers import LibraryKernels
from kernels.ops.general.elementwise.layout import StyleforgeElements, StyleforgeTotals, traits
from kernels.ops.general.elementwise.passes import Pass, read_by_backward
from kernels.ops.general.elementwise.reference import check_backward
from kernels.table.calls import launched
from kernels.table.launcher import CudaLauncher


def forward(launch: CudaLauncher, *args: Any) -> Tensor:
    return passes.forward(launch, functools.partial(_submit, launch), *args)


def backward(launch: CudaLauncher, *args: Any) -> list[Tensor]:
    return passes.backward(launch, functools.partial(_submit, launch), *args)


def backward_sums(
    launch: CudaLauncher,
    grad: Tensor,
    inputs: list[Tensor],
    function: str,
    wanted: list[bool],
    like: list[Tensor],
    of: list[int],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Run `of_gradients` of sums.py, in one pass if the sums are over rows.

    FP32 values are summed before their rounding to the dtype: first within chunks, then over
    chunks.
    """
    sums.check(wanted, like, of)
    tensors = (grad, *inputs, *like)
    key = ("sums", function, len(inputs), *((*traits(x), x.get_device()) for x in tensors))
    found: tuple[Columns | None] | None = launch.calls.get(key)
    if found is None:
        check_backward(grad, inputs, function, wanted)
        found = launch.keep(key, (columns.planned(grad, inputs, function, like),))
    (plan,) = found
    whole = [
        grad.new_empty_strided(plan.shape, plan.strides) if plan is not None and want else None
        for want in wanted
    ]
    struct = None
    if plan is not None:
        struct = columns.filled(plan, read_by_backward(function, grad, inputs), whole)
    if plan is None or struct is None:
        run = functools.partial(backward, launch)
        return sums.of_gradients(run, grad, inputs, function, wanted, like, of, p, state)
    library: LibraryKernels = launch.library
    dtype = str(plan.dtype).removeprefix("torch.")
    rows = library.chunk_of_rows(plan.columns, plan.rows, dtype, launch.gpu.multiprocessors)
    struct.chunk = rows
    chunks = -(-plan.rows // rows)
    partial = {
        number: grad.new_empty((chunks, plan.columns), dtype=torch.float32) for number in set(of)
    }
    for number, each in partial.items():
        struct.sums[number] = each.data_ptr()
    launched(library.columns(struct, dtype, launch.stream), "elementwise")
    totals = [grad.new_empty(x.shape, dtype=plan.dtype) for x in like]
    for first in range(0, len(of), 2):  # a launch sums two
        call = StyleforgeTotals(chunks=chunks, columns=plan.columns)
        for slot, number in enumerate(of[first : first + 2]):
            call.sums[slot] = partial[number].data_ptr()
            call.totals[slot] = totals[first + slot].data_ptr()
            call.numbers[slot] = plan.numbers[first + slot]
        launched(library.totals(call, dtype, launch.stream), "elementwise")
    return [*(x for x in whole if x is not None), *totals]


def _submit(launch: CudaLauncher, prepared: Pass, p: StyleforgeElements) -> None:
    library: LibraryKernels = launch.library
    dtype = str(prepared.dtype).removeprefix("torch.")
    error = library.elements(p, prepared.walk, dtype, launch.gpu.multiprocessors, launch.stream)
    launched(error, "elementwise")
