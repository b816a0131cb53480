"""The state of a stream of frames as named arrays, so that another process can continue it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

StreamState = dict[str, NDArray[Any]]  # empty if the next frame starts a stream


class StateError(ValueError):
    """Raised if a stream's state does not fit the object that should continue it."""


def copied(buffers: Mapping[str, Tensor]) -> StreamState:
    """Copy buffers of any device, on the current stream."""
    return {name: buffer.detach().cpu().numpy().copy() for name, buffer in buffers.items()}


def refill(buffers: Mapping[str, Tensor], state: Mapping[str, NDArray[Any]]) -> None:
    """Copy a state of `copied` back into its buffers, on the current stream.

    Raises:
        StateError: If a buffer has no array in the state, or one of another shape or dtype.
    """
    kept = {name: torch.as_tensor(taken(state, name)) for name in buffers}
    for name, buffer in buffers.items():
        if kept[name].shape != buffer.shape or kept[name].dtype != buffer.dtype:
            raise StateError("the saved state of the stream has another frame size")
    for name, buffer in buffers.items():
        buffer.copy_(kept[name])


def taken(state: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """Return an array of a state.

    Raises:
        StateError: If the state has no such name.
    """
    if name not in state:
        raise StateError("the saved state of the stream comes from other kernels")
    return state[name]


def under(prefix: str, state: Mapping[str, NDArray[Any]]) -> StreamState:
    """Return a state with a prefix, to be part of a larger one."""
    return {f"{prefix}.{name}": array for name, array in state.items()}


def part_of(state: Mapping[str, NDArray[Any]], prefix: str) -> StreamState:
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in state.items() if name.startswith(start)
    }
