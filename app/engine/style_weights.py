"""Weights of the chosen styles, cached, and interpolated if there are several.

Depending on the network's family (models.families), a style's weights are all weights of a network,
or a code. Interpolated weights of networks that were trained from a common base paint pictures in
between (deep network interpolation, Wang et al. 2019, arXiv:1811.10515) at the cost of one network.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from app.engine.config import EngineConfig
from app.options import blend_label
from app.styles.catalog import Catalog
from app.styles.pack import Style, StyleError, check_weights
from models.checkpoints import State
from models.families.family import NetworkFamily, StyleFiles
from models.families.table import FAMILIES
from models.inference.style_state import MixedState
from utils.translation.joints import listed
from utils.translation.texts import tr, trn


@dataclass(frozen=True, slots=True, eq=False)
class ActiveWeights:
    """The weights to use for a frame.

    Attributes:
        key: Equal keys mean equal weights.
        state: The state that a network loads for the style, float32, not to be modified. The state
            of a mix is valid until the next call of `StyleWeights.active`.
        network: The network that loads it, as in models.families.family.LoadedStyle: the dimensions
            of a feed-forward network, or an any-style network.
        remarks: Measures that were necessary to read the styles, one clause each.
    """

    key: Hashable
    label: str
    state: State
    network: Hashable
    lite: bool
    family: NetworkFamily[Any]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Weights:
    """The weights read from a file; `number` is unique to each time a file was read."""

    number: int
    state: State
    network: Hashable
    remark: str


@dataclass(frozen=True, slots=True, eq=False)
class _Mix:
    """Interpolated weights; `shares` add up to 1."""

    numbers: tuple[int, ...]
    shares: tuple[float, ...]
    state: MixedState


class StyleWeights:
    """The weights of the chosen styles: call `choose`, then `active` for each frame.

    A mix is computed when it changes. Not thread-safe.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._numbers = itertools.count()
        self._read: dict[tuple[str, bool], _Weights] = {}  # by style, lite
        self._mixes: dict[bool, _Mix] = {}  # the newest, full and lite
        self._chosen: tuple[Style, ...] = ()
        # The titles of the chosen styles without a lite network.
        self._without_lite: tuple[str, ...] = ()
        self._loaded: dict[bool, tuple[_Weights, ...]] = {}  # of the chosen styles, full and lite
        self._shares: tuple[float, ...] = (1.0,)
        self._active: dict[bool, ActiveWeights] = {}  # of the choice, full and lite

    def choose(self, config: EngineConfig) -> None:
        """Load all weights that a config may need; the previous choice stays if that fails.

        Raises:
            StyleError: If a style does not exist, or the styles cannot be mixed.
            CheckpointError: If a weights file is damaged or differs from its pack's record.
            OSError: If a file cannot be read.
        """
        chosen = tuple(self._catalog.get(key) for key in config.styles)
        without = tuple(style.title for style in chosen if not self._has_lite(style))
        kinds = [False] if config.network != "lite" or without else []
        if config.network != "full" and not without:
            kinds.append(True)
        loaded = {lite: tuple(self._get(style, lite=lite) for style in chosen) for lite in kinds}
        for weights in loaded.values():
            _check_mixable(chosen, [w.network for w in weights])
        self._chosen, self._loaded, self._without_lite = chosen, loaded, without
        self._shares = tuple(share for _, share in config.parts)
        self._active.clear()

    @property
    def label(self) -> str:
        """The title of the style, or all titles of a mix with their shares."""
        titles = [style.title for style in self._chosen]
        return blend_label(list(zip(titles, self._shares, strict=True)))

    def texture(self, *, moving: bool) -> float:
        """Return the automatic texture amount, steady if `moving`; a mix has the weighted mean."""
        amounts = [each.stream_texture if moving else each.texture for each in self._chosen]
        return sum(a * share for a, share in zip(amounts, self._shares, strict=True))

    def strokes(self, *, moving: bool) -> tuple[float | str, float]:
        """Return the automatic direction, steady if `moving`, and length of strokes.

        A mix has the ones of its main style.
        """
        shares = self._shares
        main = self._chosen[shares.index(max(shares))]
        direction = main.stream_strokes_direction if moving else main.strokes_direction
        return direction, main.strokes_length

    @property
    def family(self) -> NetworkFamily[Any]:
        return FAMILIES[self._chosen[0].family]

    @property
    def lite_unavailable_reason(self) -> str:
        """The clause that names the styles without a lite network; "" if all have one."""
        without = self._without_lite
        if not without:
            return ""
        return trn(
            "{styles} has no lite network",
            "{styles} have no lite network",
            len(without),
            styles=listed(without),
        )

    def active(self, *, lite: bool) -> ActiveWeights:
        """Return the weights of the choice: the same object until the next choice.

        Args:
            lite: Whether to return the lite network's weights. They exist only if the config's
                network is not "full" and every chosen style has a lite network. The full network's
                weights exist only if the config's network is not "lite" or a style has no lite
                network.
        """
        if lite not in self._active:
            self._active[lite] = self._made(lite)
        return self._active[lite]

    def as_chosen(self, active: ActiveWeights) -> ActiveWeights | None:
        """Return weights with their label of now, since styles are renamed; None if others are
        chosen.
        """
        now = self.active(lite=active.lite) if active.lite in self._loaded else None
        return None if now is None or now.key != active.key else now

    def _made(self, lite: bool) -> ActiveWeights:
        loaded = self._loaded[lite]
        numbers = tuple(weights.number for weights in loaded)
        network, family = loaded[0].network, self.family
        remarks = tuple(filter(None, (weights.remark for weights in loaded)))
        if len(loaded) == 1:
            self._mixes.pop(lite, None)  # frees its transforms
            state = loaded[0].state
            return ActiveWeights(numbers, self.label, state, network, lite, family, remarks)
        mix = self._mixes.get(lite)
        if mix is None or (mix.numbers, mix.shares) != (numbers, self._shares):
            mix = self._mixes[lite] = self._mix(loaded, mix)
        key = (numbers, self._shares)
        return ActiveWeights(key, self.label, mix.state, network, lite, family, remarks)

    def _mix(self, weights: tuple[_Weights, ...], old: _Mix | None) -> _Mix:
        numbers = tuple(each.number for each in weights)
        if old is not None and old.numbers == numbers:
            state = old.state  # reused: dragging the slider allocates nothing
        else:
            state = MixedState([each.state for each in weights])
        state.mix(self._shares)
        return _Mix(numbers, self._shares, state)

    def evict(self, key: str) -> None:
        """Drop the cached weights of a style; they stay in use until the next `choose`."""
        for known in [known for known in self._read if known[0] == key]:
            del self._read[known]
        self._mixes.clear()
        self._active.clear()

    def _has_lite(self, style: Style) -> bool:
        return FAMILIES[style.family].has_lite(_files(style), self._catalog.networks)

    def _get(self, style: Style, *, lite: bool) -> _Weights:
        weights = self._read.get((style.key, lite))
        if weights is None:
            check_weights(style, lite=lite and style.lite is not None)
            family, networks = FAMILIES[style.family], self._catalog.networks
            found = family.load(_files(style), networks, lite=lite)
            weights = _Weights(next(self._numbers), found.state, found.network, found.remark)
            self._read[style.key, lite] = weights
        return weights


def _files(style: Style) -> StyleFiles:
    return StyleFiles(style.weights, style.lite, style.picture)


def _check_mixable(styles: tuple[Style, ...], networks: list[Hashable]) -> None:
    first, family = styles[0], FAMILIES[styles[0].family]
    for style, network in zip(styles[1:], networks[1:], strict=True):
        other = FAMILIES[style.family]
        if first.family != style.family:
            raise StyleError(
                tr(
                    "{first} and {other} cannot be mixed: {first} is {kind}, and {other} is "
                    "{other_kind}",
                    first=first.title,
                    other=style.title,
                    kind=tr(family.one_of),
                    other_kind=tr(other.one_of),
                )
            )
        if reason := family.difference(networks[0], network):
            raise StyleError(
                tr(
                    "{first} and {other} cannot be mixed: {reason}",
                    first=first.title,
                    other=style.title,
                    reason=reason,
                )
            )
    if len(styles) > family.most_mixed:
        raise StyleError(
            trn(
                "{n} style cannot be mixed: it is {kind}, and at most {most} of this kind can "
                "be mixed",
                "{n} styles cannot be mixed: each is {kind}, and at most {most} of this kind "
                "can be mixed",
                len(styles),
                kind=tr(family.one_of),
                most=family.most_mixed,
            )
        )
