"""Loads and caches the weights of the chosen styles, and interpolates them if there are two.

Interpolating the weights of networks that were trained from a common base gives pictures in between
(deep network interpolation, Wang et al. 2019, arXiv:1811.10515) at the cost of one network.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass

import torch

from app.engine.config import EngineConfig
from app.options import blend_label
from app.styles.library import Library
from app.styles.pack import Style, StyleError, check_weights
from models.checkpoints import State, load_checkpoint
from models.network_config import NetworkConfig, network_config


@dataclass(frozen=True, slots=True, eq=False)
class ActiveWeights:
    """The weights to use for a frame.

    Attributes:
        key: Equal keys mean equal weights.
        label: The title of the style, or those of a mix with their shares.
        state: The state dict, float32, not to be modified; that of a mix is valid until the next
            call of `StyleWeights.active`.
        shape: The dimensions of the network.
        lite: Whether it is the lite network.
    """

    key: Hashable
    label: str
    state: State
    shape: NetworkConfig
    lite: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Weights:
    """The weights read from a file; `number` is unique to each time a file was read."""

    number: int
    state: State
    shape: NetworkConfig


@dataclass(frozen=True, slots=True, eq=False)
class _Mix:
    """Two weights interpolated; `amount` is the share of the second, 0 to 1."""

    numbers: tuple[int, ...]
    amount: float
    state: State


class StyleWeights:
    """Gives the weights of the chosen styles: `choose`, then `active` for each frame.

    A mix is computed when it changes. Not thread-safe.

    Args:
        library: Where styles are looked up.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._numbers = itertools.count()
        self._read: dict[tuple[str, bool], _Weights] = {}  # by style and lite
        self._mixes: dict[bool, _Mix] = {}  # the newest, full and lite
        self._chosen: tuple[Style, ...] = ()
        self._loaded: dict[bool, tuple[_Weights, ...]] = {}  # of those chosen, full and lite
        self._amount = 0.0

    def choose(self, config: EngineConfig) -> None:
        """Load all weights that a config may need; the previous choice stays if that fails.

        Args:
            config: Gives the styles, their mix and the network.

        Raises:
            StyleError: There is no such style, or the two cannot be mixed.
            CheckpointError: A file of weights is damaged or is another one than its pack says.
            OSError: A file cannot be read.
        """
        chosen = (self._library.get(config.style),)
        if config.mix is not None and config.mix != config.style:
            chosen += (self._library.get(config.mix),)
        lite = config.network != "full" and all(style.lite for style in chosen)
        loaded = {False: tuple(self._get(style, lite=False) for style in chosen)}
        if lite:
            loaded[True] = tuple(self._get(style, lite=True) for style in chosen)
        for weights in loaded.values():
            _check_mixable([style.title for style in chosen], [w.shape for w in weights])
        self._chosen, self._loaded, self._amount = chosen, loaded, config.mix_amount

    @property
    def label(self) -> str:
        """The title of the style, or those of both with their shares."""
        titles = [style.title for style in self._chosen]
        return blend_label(titles[0], titles[1], self._amount) if len(titles) == 2 else titles[0]

    @property
    def lite_unavailable_reason(self) -> str:
        """Which of the styles has no lite network, as a clause; "" if all have one."""
        without = [style.title for style in self._chosen if style.lite is None]
        if not without:
            return ""
        return f"{' and '.join(without)} {'has' if len(without) == 1 else 'have'} no lite network"

    def active(self, *, lite: bool) -> ActiveWeights:
        """Get the weights of the choice.

        Args:
            lite: Whether those of the lite network; only if the config's network is not "full"
                and every chosen style has one.
        """
        loaded = self._loaded[lite]
        numbers = tuple(weights.number for weights in loaded)
        if len(loaded) == 1:
            return ActiveWeights(numbers, self.label, loaded[0].state, loaded[0].shape, lite)
        mix = self._mixes.get(lite)
        if mix is None or (mix.numbers, mix.amount) != (numbers, self._amount):
            mix = self._mixes[lite] = self._mix(loaded[0], loaded[1], mix)
        return ActiveWeights((*numbers, self._amount), self.label, mix.state, loaded[0].shape, lite)

    def _mix(self, first: _Weights, second: _Weights, old: _Mix | None) -> _Mix:
        numbers = (first.number, second.number)
        if old is not None and old.numbers == numbers:
            state = old.state  # reused: dragging the slider allocates nothing
        else:
            state = {key: torch.empty_like(value) for key, value in first.state.items()}
        for key, out in state.items():
            torch.lerp(first.state[key], second.state[key], self._amount, out=out)
        return _Mix(numbers, self._amount, state)

    def evict(self, key: str) -> None:
        """Drop the cached weights of a style that was removed or replaced; they are used until
        the next `choose`."""
        for lite in (False, True):
            self._read.pop((key, lite), None)
        self._mixes.clear()

    def _get(self, style: Style, *, lite: bool) -> _Weights:
        weights = self._read.get((style.key, lite))
        if weights is None:
            path = style.lite if lite else style.weights
            assert path is not None
            check_weights(style, lite=lite)
            state = load_checkpoint(path)
            weights = _Weights(next(self._numbers), state, network_config(state))
            self._read[style.key, lite] = weights
        return weights


def _check_mixable(titles: list[str], shapes: list[NetworkConfig]) -> None:
    if len(set(shapes)) > 1:
        raise StyleError(
            f"{titles[0]} and {titles[1]} cannot be mixed: their networks differ "
            f"({_description(shapes[0])}; {_description(shapes[1])})"
        )


def _description(shape: NetworkConfig) -> str:
    channels, side = "-".join(map(str, shape.widths)), shape.end_kernel
    count = shape.num_residual_blocks
    blocks = f"{count} residual block{'' if count == 1 else 's'}"
    return f"{blocks}, {channels} channels, {side}x{side} ends"
