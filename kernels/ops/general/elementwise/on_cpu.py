"""Elementwise functions on the CPU, by elementwise.cpp where it is faster than PyTorch.

FP64 runs in PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from ctypes import byref, c_longlong, c_void_p
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise import columns, passes, reference, sums
from kernels.ops.general.elementwise.arguments import result_type
from kernels.ops.general.elementwise.columns import Columns
from kernels.ops.general.elementwise.layout import StyleforgeElements, traits
from kernels.ops.general.elementwise.passes import Pass, read_by_backward
from kernels.ops.general.elementwise.reference import check_backward
from kernels.table.launcher import CpuLauncher

LIBRARY_ON_CPU = "elementwise"
# of all rows, and rows per chunk; each chunk's gradients are summed separately
MOST_CHUNKS, LEAST_ROWS = 32, 32
DTYPES = (torch.float32, torch.float16, torch.bfloat16)  # FP64's exp, tanh and erf are PyTorch's


def forward(launch: CpuLauncher, function: str, inputs: Sequence[Tensor], *dropout: Any) -> Tensor:
    if _runs_on_pytorch(inputs):
        return reference.forward(function, inputs, *dropout)
    return passes.forward(launch, functools.partial(_submit, launch), function, inputs, *dropout)


def backward(
    launch: CpuLauncher, grad: Tensor, inputs: list[Tensor], *options: Any
) -> list[Tensor]:
    if _runs_on_pytorch(inputs):
        return reference.backward(grad, inputs, *options)
    submit = functools.partial(_submit, launch)
    return passes.backward(launch, submit, grad, inputs, *options)


def backward_sums(
    launch: CpuLauncher,
    grad: Tensor,
    inputs: list[Tensor],
    function: str,
    wanted: list[bool],
    like: list[Tensor],
    of: list[int],
    p: float,
    state: Tensor | None,
) -> list[Tensor]:
    """Run `sums.of_gradients`, in one pass if the sums are over rows.

    FP32 values are summed before their rounding to the dtype: first within chunks, then over
    chunks.
    """
    sums.check(wanted, like, of)
    tensors = (grad, *inputs, *like)
    key = ("sums", function, len(inputs), *(traits(x) for x in tensors))
    found: tuple[Columns | None] | None = launch.calls.get(key)
    if found is None:
        check_backward(grad, inputs, function, wanted)
        found = launch.keep(key, (columns.planned(grad, inputs, function, like),))
    (plan,) = found
    struct, whole = None, []
    if plan is not None:
        whole = [
            grad.new_empty_strided(plan.shape, plan.strides) if want else None for want in wanted
        ]
        struct = columns.filled(plan, read_by_backward(function, grad, inputs), whole)
    if plan is None or struct is None:
        run = functools.partial(backward, launch)
        return sums.of_gradients(run, grad, inputs, function, wanted, like, of, p, state)
    struct.chunk = max(LEAST_ROWS, -(-plan.rows // MOST_CHUNKS))
    chunks = -(-plan.rows // struct.chunk)
    partial = {number: torch.empty(chunks, plan.columns) for number in set(of)}
    for number, each in partial.items():
        struct.sums[number] = each.data_ptr()
    run_columns = launch.function("styleforge_elementwise_columns", c_longlong, c_void_p)
    if run_columns(torch.get_num_threads(), byref(struct)):
        raise RuntimeError(f"elementwise: no sums of {function} in the library")
    # A single number is summed in FP64: PyTorch splits a sum of many columns among the threads.
    summed = {number: each.sum(0) for number, each in partial.items()}
    totals = [
        (summed[number].sum(dtype=torch.float64) if is_number else summed[number])
        .to(plan.dtype)
        .reshape(x.shape)
        for number, is_number, x in zip(of, plan.numbers, like, strict=True)
    ]
    return [*(x for x in whole if x is not None), *totals]


def refuses(inputs: Sequence[Tensor]) -> str:
    """Return why the library has no kernel for these tensors, or "" if it has one."""
    if inputs[0].device.type == "cpu" and result_type(inputs) not in DTYPES:
        return f"no native CPU kernel in {result_type(inputs)}: PyTorch's is faster there"
    return ""


def _runs_on_pytorch(inputs: Sequence[Tensor]) -> bool:
    return result_type(inputs) == torch.float64


def _submit(launch: CpuLauncher, _prepared: Pass, p: StyleforgeElements) -> None:
    run = launch.function("styleforge_elementwise", c_longlong, c_void_p)
    if run(torch.get_num_threads(), byref(p)):
        raise RuntimeError(f"elementwise: no function {p.function} of type {p.type} in the library")
