"""Elementwise passes on the CPU that write or read one bit per element."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_longlong, c_void_p

import torch
from torch import Tensor

from kernels.jit import build
from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES
from kernels.ops.general.elementwise.layout import StyleforgeElements, Walk, described
from kernels.ops.general.elementwise.on_cpu import DTYPES, LIBRARY_ON_CPU
from kernels.table.launcher import CpuLauncher
from kernels.table.philox import dropped_numbers, kept_scale
from kernels.table.status import use_native

OF_BYTE = 8


def are_kept(*tensors: Tensor) -> bool:
    """Return whether a pass saves one bit per element for backward.

    It does so on a CPU whose kernel is in use, if all tensors are contiguous and have the same
    shape and dtype.
    """
    first = tensors[0]
    return (
        all(x.is_cpu and x.is_contiguous() for x in tensors)
        and all(x.dtype == first.dtype and x.shape == first.shape for x in tensors[1:])
        and first.dtype in DTYPES
        and first.numel() > 0
        and (not build.reason(LIBRARY_ON_CPU) or use_native(LIBRARY_ON_CPU))
    )


def of(kept: Tensor) -> Tensor:
    """Pack bools into uint8 [ceil(elements / 8)]: one bit each in order, lowest bit first."""
    flat = kept.flatten()
    whole = torch.nn.functional.pad(flat, (0, -flat.numel() % OF_BYTE)).view(-1, OF_BYTE)
    return (whole.to(torch.uint8) << _places(kept)).sum(-1, dtype=torch.uint8)


def are_set(bits: Tensor, count: int) -> Tensor:
    """Unpack such bits into bool [count]."""
    return ((bits[:, None] >> _places(bits)) & 1).flatten()[:count] != 0


def run(
    launch: CpuLauncher,
    function: str,
    inputs: Sequence[Tensor],
    bits: Tensor | None = None,
    p: float = 0.0,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Run a pass over contiguous tensors of one shape and dtype.

    Returns the result or the gradient, and the bits.

    Args:
        inputs: The function's inputs; backward the gradient and the tensors read besides it.
        bits: The bits that backward reads; None in the forward pass.
    """
    first = inputs[0]
    count = first.numel()
    key = ("bits", function, count, first.dtype, bits is None)
    prepared: StyleforgeElements | None = launch.calls.get(key)
    if prepared is None:
        walked = Walk(count, (count,), ((1,),) * len(inputs))
        number, kind = FUNCTIONS[function].number, TYPES[first.dtype]
        prepared = launch.keep(key, described(walked, number, kind, bits is not None))
    struct = StyleforgeElements.from_buffer_copy(prepared)
    out = torch.empty_like(first)
    made = first.new_empty(-(-count // OF_BYTE), dtype=torch.uint8) if bits is None else bits
    for number, x in enumerate(inputs):
        struct.inputs[number] = x.data_ptr()
    struct.outputs[0] = out.data_ptr()
    if FUNCTIONS[function].drops:
        struct.dropped, struct.kept_scale = dropped_numbers(p), kept_scale(p)
        struct.state = None if state is None else state.data_ptr()
    run_bits = launch.function("styleforge_elementwise_bits", c_longlong, c_void_p, c_void_p)
    if run_bits(torch.get_num_threads(), byref(struct), made.data_ptr()):
        raise RuntimeError(f"elementwise: no function {function} in the library")
    return out, made


def _places(x: Tensor) -> Tensor:
    return torch.arange(OF_BYTE, dtype=torch.uint8, device=x.device)
