"""Argument checks of the elementwise operations, and the layout of their results."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES


def check(
    function: str, inputs: Sequence[Tensor], names: Sequence[str] | None = None
) -> torch.Size:
    """Return the shape of the result; `names` are the inputs' in messages, if not the function's.

    Raises:
        ValueError: If a tensor is not floating, on another device than the first, or does not
            broadcast.
    """
    names = FUNCTIONS[function].inputs if names is None else names
    shape, first = inputs[0].shape, inputs[0]
    for name, x in zip(names, inputs, strict=True):
        if x.dtype not in TYPES:
            raise ValueError(
                f"{function}: {name} is a tensor of {x.dtype}; expected float16, bfloat16, float32 "
                "or float64"
            )
        if x.device != first.device:
            raise ValueError(
                f"{function}: {name} is on {x.device}; expected {first.device}, where {names[0]} is"
            )
        try:
            shape = broadcast(shape, x.shape)
        except RuntimeError as error:
            raise ValueError(
                f"{function}: {name} has the shape {list(x.shape)}; expected one that broadcasts "
                f"with {list(shape)}"
            ) from error
    return shape


def broadcast(first: torch.Size, second: torch.Size) -> torch.Size:
    """Return the broadcast shape of two shapes.

    Raises:
        RuntimeError: If the shapes cannot be broadcast.
    """
    return torch.broadcast_shapes(first, second)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def check_dropout(function: str, p: float, state: Tensor | None, active: bool) -> None:
    """Raise ValueError unless `p` is a probability and `state` a random state."""
    if not 0 <= p <= 1:
        raise ValueError(f"{function}: p is {p}; expected a probability from 0 to 1")
    if active and state is None:
        raise ValueError(
            f"{function}: state is None; expected int64 [2] where elements are dropped"
        )
    if state is not None and (state.dtype != torch.int64 or state.shape != (2,)):
        raise ValueError(
            f"{function}: state is {state.dtype} {list(state.shape)}; expected int64 [2]"
        )


def result_type(inputs: Sequence[Tensor]) -> torch.dtype:
    """Return the promoted dtype; as in PyTorch, a 0-dim tensor does not widen another."""
    deciding = [x.dtype for x in inputs if x.dim()] or [x.dtype for x in inputs]
    found = deciding[0]
    for dtype in deciding[1:]:
        found = torch.promote_types(found, dtype)
    return found


def new_result(function: str, inputs: Sequence[Tensor], shape: torch.Size) -> Tensor:
    """Return an empty result with the first input's layout if the shapes match, else contiguous."""
    first, dtype = inputs[0], result_type(inputs)
    if first.shape == shape and not FUNCTIONS[function].drops:
        return torch.empty_like(first, dtype=dtype)
    return first.new_empty(shape, dtype=dtype)


def channel_weights(alpha: Tensor, dims: int, channels: int) -> Tensor:
    """Return the weights of a PReLU in their broadcast shape: one for all, or one per channel.

    `dims` and `channels` are the other factor's number of dimensions and size of dimension 1, or
    1.

    Raises:
        ValueError: Unless `alpha` has one element or is [channels].
    """
    if alpha.numel() == 1 and alpha.dim() <= 1:
        return alpha.reshape(())
    if alpha.shape != (channels,):
        raise ValueError(
            f"prelu_bias: alpha has the shape {list(alpha.shape)}; expected one element, or "
            f"[{channels}], one for each channel"
        )
    return alpha.view(channels, *(1,) * (dims - 2))
