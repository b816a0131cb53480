"""A pass over the tensors of an elementwise function, prepared once per layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.general.elementwise.arguments import check, new_result, result_type
from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES
from kernels.ops.general.elementwise.layout import (
    MOST_DIMS,
    StyleforgeElements,
    Walk,
    described,
    traits,
    walk,
)
from kernels.ops.general.elementwise.reference import check_backward
from kernels.table.launcher import Calls
from kernels.table.philox import dropped_numbers, kept_scale


class Pass(NamedTuple):
    """A pass prepared for a layout of the tensors; `struct` has no addresses.

    `shape` and `strides` describe the results, `dtype` also the tensors that kernels read. `copies`
    is whether the inputs have more dimensions than kernels walk.
    """

    struct: StyleforgeElements
    walk: Walk
    shape: torch.Size
    strides: tuple[int, ...]
    dtype: torch.dtype
    copies: bool


# Runs a pass with addresses.
Submit = Callable[[Pass, StyleforgeElements], None]


def forward(
    calls: Calls,
    submit: Submit,
    function: str,
    inputs: Sequence[Tensor],
    p: float = 0.0,
    state: Tensor | None = None,
) -> Tensor:
    """Run `reference.forward` in a kernel on tensors of one device."""
    key = (function, *map(_key, inputs))
    prepared: Pass | None = calls.calls.get(key)
    if prepared is None:
        shape = check(function, inputs)
        prepared = calls.keep(key, _prepared(function, inputs, inputs, shape, backward=False))
    out = _run(submit, prepared, inputs, (True,), p, state)
    return out[0]


def backward(
    calls: Calls,
    submit: Submit,
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Run `reference.backward` in a kernel on tensors of one device."""
    key = ("backward", function, len(wanted), *map(_key, (grad, *inputs)))
    prepared: Pass | None = calls.calls.get(key)
    if prepared is None:
        shape = check_backward(grad, inputs, function, wanted)
        given = read_by_backward(function, grad, inputs)
        prepared = calls.keep(key, _prepared(function, inputs, given, shape, backward=True))
    if not any(wanted):
        return []
    return _run(submit, prepared, read_by_backward(function, grad, inputs), wanted, p, state)


def read_by_backward(function: str, grad: Tensor, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the kernel's tensors: the gradient, and one for each input of the function."""
    row = FUNCTIONS[function]
    return (grad, *([*inputs] * len(row.inputs) if row.of_result else inputs))


def _key(x: Tensor) -> tuple[object, ...]:
    return (*traits(x), x.get_device())


def _prepared(
    function: str,
    inputs: Sequence[Tensor],
    given: Sequence[Tensor],
    shape: torch.Size,
    *,
    backward: bool,
) -> Pass:
    result = new_result(function, [_without_memory(x) for x in inputs], shape)
    strides, dtype = result.stride(), result_type(inputs)
    row = FUNCTIONS[function]
    cast = [_without_memory(x).to(dtype) for x in given]
    found = walk(shape, strides, [(x.shape, x.stride()) for x in cast])
    copies = len(found.sizes) > MOST_DIMS
    if copies:
        found = walk(shape, strides, [(shape, strides) for _ in given])
    struct = described(found, row.number, TYPES[dtype], backward)
    return Pass(struct, found, shape, strides, dtype, copies)


def _without_memory(x: Tensor) -> Tensor:
    # Tensor.to("meta") would lose strides of 0.
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")


def _run(
    submit: Submit,
    prepared: Pass,
    given: Sequence[Tensor],
    wanted: Sequence[bool],
    p: float,
    state: Tensor | None,
) -> list[Tensor]:
    shape, strides, dtype = prepared.shape, prepared.strides, prepared.dtype
    made = [given[0].new_empty_strided(shape, strides, dtype=dtype) for want in wanted if want]
    if not prepared.walk.elements:
        return made
    read = [x if x.dtype == dtype else x.to(dtype) for x in given]
    if prepared.copies:
        read = [_dense(x, prepared) for x in read]
    struct = StyleforgeElements.from_buffer_copy(prepared.struct)
    for number, x in enumerate(read):
        struct.inputs[number] = x.data_ptr()
    each = iter(made)
    for number, want in enumerate(wanted):
        struct.outputs[number] = next(each).data_ptr() if want else None
    if state is not None:
        struct.state = state.data_ptr()
        struct.dropped, struct.kept_scale = dropped_numbers(p), kept_scale(p)
    submit(prepared, struct)
    return made


def _dense(x: Tensor, prepared: Pass) -> Tensor:
    return x.new_empty_strided(prepared.shape, prepared.strides).copy_(x)
