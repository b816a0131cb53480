"""Elementwise functions on the CPU: cpu/elementwise.cpp where it is faster than PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from ctypes import byref, c_longlong, c_void_p

import torch
from torch import Tensor

from kernels.ops.elements import passes, reference
from kernels.ops.elements.arguments import result_type
from kernels.ops.elements.layout import StyleforgeElements
from kernels.ops.elements.passes import Pass
from kernels.ops.launcher import CpuLauncher

LIBRARY_ON_CPU = "elementwise"
DTYPES = (torch.float32, torch.float16, torch.bfloat16)  # FP64's exp, tanh and erf are PyTorch's


def forward(
    launch: CpuLauncher,
    function: str,
    inputs: Sequence[Tensor],
    p: float = 0.0,
    state: Tensor | None = None,
) -> Tensor:
    """As `reference.forward`; FP64 runs on PyTorch."""
    if _runs_on_pytorch(inputs):
        return reference.forward(function, inputs, p, state)
    return passes.forward(launch, functools.partial(_submit, launch), function, inputs, p, state)


def backward(
    launch: CpuLauncher,
    grad: Tensor,
    inputs: list[Tensor],
    function: str,
    wanted: list[bool],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """As `reference.backward`; FP64 runs on PyTorch."""
    if _runs_on_pytorch(inputs):
        return reference.backward(grad, inputs, function, wanted, p, state)
    submit = functools.partial(_submit, launch)
    return passes.backward(launch, submit, grad, inputs, function, wanted, p, state)


def refuses(inputs: Sequence[Tensor]) -> str:
    """Why the library has no kernel for these tensors; empty if it has."""
    if inputs[0].device.type == "cpu" and result_type(inputs) not in DTYPES:
        return f"no native CPU kernel in {result_type(inputs)}: PyTorch's is faster there"
    return ""


def _runs_on_pytorch(inputs: Sequence[Tensor]) -> bool:
    return result_type(inputs) == torch.float64


def _submit(launch: CpuLauncher, _prepared: Pass, p: StyleforgeElements) -> None:
    run = launch.function("styleforge_elementwise", c_longlong, c_void_p)
    if run(torch.get_num_threads(), byref(p)):
        raise RuntimeError(f"elementwise: no function {p.function} of type {p.type} in the library")
