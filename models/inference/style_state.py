"""The weights of styles and of mixes, with the transforms that networks on the CPU share."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from models.inference.buffers import PreparedWeights

MOST_BYTES = 128 << 20  # of the transforms that styles keep: four full networks have 120 MB

State = dict[str, Tensor]  # as models.checkpoints reads it, which the executors do not import
Make = Callable[[Tensor], Tensor]  # transforms a weight


class TransformedState(dict[str, Tensor], ABC):
    """Weights by the published keys, float32, with their transforms. Callers do not modify it.

    A copy is a plain dict.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    @abstractmethod
    def transform(self, name: str, make: Make) -> Tensor:
        """Return `make` of the weight `name`, float32; the same `make` for each call of a name."""

    @abstractmethod
    def touch(self) -> None:
        """Count the state as used last: the transforms of other styles are dropped first."""

    @property
    @abstractmethod
    def sources(self) -> tuple[State, ...]:
        """The states whose weights the transforms depend on, itself first."""


class StyleState(TransformedState):
    """The weights of one style, transformed once for all networks and mixes. Thread-safe."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._prepared = PreparedWeights()
        self._number = next(_numbers)

    @classmethod
    def shared(cls, state: State) -> StyleState:
        """Return the state in use with the same bits as this one, float32, or else a new one.

        Engines that read the same file so share its weights and their transforms.
        """
        with _lock:
            known = next((each for each in _states.values() if _same_bits(each, state)), None)
            if known is None:
                known = cls(state)
                known._touch()
            return known

    def transform(self, name: str, make: Make) -> Tensor:
        with _lock:
            before = self._prepared.nbytes
            (made,) = self._prepared.get(name, self[name], torch.float32, lambda w: (make(w),))
            if self._prepared.nbytes > before:
                self._touch()
                self._bound()
            return made

    def touch(self) -> None:
        with _lock:
            self._touch()

    @property
    def sources(self) -> tuple[State, ...]:
        return (self,)

    def _touch(self) -> None:
        _states.pop(self._number, None)
        _states[self._number] = self  # last in the dict: the first is the least recently used

    def _bound(self) -> None:
        """Make the styles that were used least recently drop their transforms."""
        kept = 0
        for state in reversed(list(_states.values())):
            kept += state._prepared.nbytes
            if kept > MOST_BYTES and state is not self:
                state._prepared = PreparedWeights()


class MixedState(TransformedState):
    """The interpolated weights of several styles. Not thread-safe.

    It interpolates the transforms of its styles, too: these are linear in the weights.

    Args:
        states: The styles, of the same keys and shapes.
    """

    def __init__(self, states: Sequence[State]) -> None:
        super().__init__(_buffers(states[0]))
        self._states = [s if isinstance(s, StyleState) else StyleState(s) for s in states]
        self._shares: tuple[float, ...] = ()
        self._mixed: State = {}  # the buffers of the transforms
        self._current: set[str] = set()  # the names of those with the newest shares

    def mix(self, shares: tuple[float, ...]) -> None:
        """Set the weights to a mix; the shares, 0 to 1, add up to 1."""
        self._shares = shares
        self._current.clear()
        interpolate(self._states, shares, self)

    def transform(self, name: str, make: Make) -> Tensor:
        if name not in self._current:
            parts = [{name: state.transform(name, make)} for state in self._states]
            if name not in self._mixed:
                self._mixed |= _buffers(parts[0])
            interpolate(parts, self._shares, {name: self._mixed[name]})
            self._current.add(name)
        return self._mixed[name]

    @property
    def styles(self) -> tuple[StyleState, ...]:
        return tuple(self._states)

    @property
    def shares(self) -> tuple[float, ...]:
        return self._shares

    def touch(self) -> None:
        for state in self._states:
            state.touch()

    @property
    def sources(self) -> tuple[State, ...]:
        return (self, *self._states)


class LoadedTransforms:
    """The transforms of a state that a network loaded, until a weight of either changes.

    It notices the same changes as PreparedWeights. It holds the transforms that the network used,
    even after the state dropped them.

    Args:
        weights: The network's weights, equal to the state's.
    """

    def __init__(self, state: TransformedState, weights: Mapping[str, Tensor]) -> None:
        self._state, self._weights = state, weights
        self._stamps = {name: self._stamp(name) for name, w in weights.items() if w.dim() == 4}
        self._used: dict[str, Tensor] = {}

    def get(self, name: str, make: Make) -> Tensor | None:
        """Return `make` of a weight as TransformedState.transform; None after a change."""
        stamp = self._stamp(name)
        if stamp is None or stamp != self._stamps[name]:
            return None
        if name not in self._used:
            self._used[name] = self._state.transform(name, make)
        return self._used[name]

    def touch(self) -> None:
        self._state.touch()

    def _stamp(self, name: str) -> tuple[int, ...] | None:
        """Return the addresses and versions of a weight; None if its changes go unnoticed."""
        tensors = [self._weights[name], *(state[name] for state in self._state.sources)]
        if any(not t.is_cpu or t.dtype is not torch.float32 or t.is_inference() for t in tensors):
            return None
        return tuple(number for t in tensors for number in (t.data_ptr(), t._version))


def interpolate(states: Sequence[State], shares: Sequence[float], out: State) -> None:
    """Mix states with the same keys and shapes into `out`; the shares, 0 to 1, add up to 1."""
    mixed, total = states[0], shares[0]
    for state, share in zip(states[1:], shares[1:], strict=True):
        total += share
        for key, value in out.items():
            torch.lerp(mixed[key], state[key], share / total if total else 0.0, out=value)
        mixed = out


def _buffers(like: State) -> State:
    # Tensors created in inference mode have no version counter, and are read-only outside it.
    with torch.inference_mode(False):
        return {key: torch.empty_like(value) for key, value in like.items()}


def _same_bits(first: State, second: State) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(value.view(torch.int32), second[key].view(torch.int32))
        for key, value in first.items()
    )


_numbers = itertools.count()
_lock = threading.Lock()
_states: WeakValueDictionary[int, StyleState] = WeakValueDictionary()
