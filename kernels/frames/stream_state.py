"""What is kept of a stream of frames as named arrays, with which it goes on in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

StreamState = dict[str, NDArray[Any]]  # empty where the next frame begins a stream


class StateError(ValueError):
    """What was kept of a stream does not fit what is to go on with it."""


def copied(buffers: Mapping[str, Tensor]) -> StreamState:
    """Copy buffers of any device, on the stream that is current."""
    return {name: buffer.detach().cpu().numpy().copy() for name, buffer in buffers.items()}


def refill(buffers: Mapping[str, Tensor], state: Mapping[str, NDArray[Any]]) -> None:
    """Write a state that was `copied` back into such buffers, on the stream that is current.

    Raises:
        StateError: A buffer is missing, or has another shape or type.
    """
    kept = {name: torch.as_tensor(taken(state, name)) for name in buffers}
    for name, buffer in buffers.items():
        if kept[name].shape != buffer.shape or kept[name].dtype != buffer.dtype:
            raise StateError("what was kept of the frames before is of another size")
    for name, buffer in buffers.items():
        buffer.copy_(kept[name])


def taken(state: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """An array of a state. Raises StateError where there is none of that name."""
    if name not in state:
        raise StateError("what was kept of the frames before is that of other kernels")
    return state[name]


def under(prefix: str, state: Mapping[str, NDArray[Any]]) -> StreamState:
    """A state as a part of a larger one."""
    return {f"{prefix}.{name}": array for name, array in state.items()}


def part_of(state: Mapping[str, NDArray[Any]], prefix: str) -> StreamState:
    """The part of a state that was put `under` a prefix."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in state.items() if name.startswith(start)
    }
