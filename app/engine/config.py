"""The engine's configuration, a value that may cross threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.options import AS_THEY_ARE, DEFAULT_MIX_AMOUNT, EVERYTHING, GREEN, Part
from app.parameters import (
    AUTO,
    MATTED,
    PARAMETERS,
    FractionParameter,
    HandlesParameter,
    Parameters,
    Stage,
)
from kernels.frames.combing import Comb
from models.precision import Precision
from utils.stroke_directions import FOLLOW, HAND


@dataclass(frozen=True, slots=True)
class EngineConfig(Parameters):
    """Everything that determines the result for a frame: equal configs give equal results.

    It extends app.parameters.Parameters by fields that are not settings themselves.

    Attributes:
        size: The long side of the network's input in pixels; None for automatic. The result always
            has the frame's size.
        mix: The key of a second style, whose share is `mix_amount`; None for the first style alone.
        mix_more: Keys of a third and a fourth style with their shares; the first has the rest.
        matte: The file that finds people for `paint`, see app.engine.matting.files; "" for none.
    """

    precision: Precision = Precision.fp32
    size: int | None = None
    compare: bool = False
    mix: str | None = None
    mix_more: tuple[Part, ...] = ()
    matte: str = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The keys of the style, or of the mixed styles, with shares that add up to 1."""
        if self.mix is None or self.mix == self.style:
            return ((self.style, 1.0),)
        others = [(self.mix, self.mix_amount), *self.mix_more]
        total = max(1.0, sum(share for _, share in others))
        others = [(key, share / total) for key, share in others]
        return ((self.style, max(0.0, 1 - sum(share for _, share in others))), *others)

    @property
    def styles(self) -> tuple[str, ...]:
        return tuple(key for key, _ in self.parts)

    def mixed(self, parts: Sequence[Part]) -> EngineConfig:
        """Return this config with other styles, whose shares add up to 1.

        A single style resets the fields of the mix to their defaults.
        """
        (style, _), *others = parts
        if not others:
            return replace(self, style=style, mix=None, mix_amount=DEFAULT_MIX_AMOUNT, mix_more=())
        (mix, amount), *more = others
        return replace(self, style=style, mix=mix, mix_amount=amount, mix_more=tuple(more))

    @property
    def has_green(self) -> bool:
        """Whether the unpainted part of a picture is green."""
        return bool(self.matte) and self.paint != EVERYTHING and self.rest == GREEN

    def unmatted(self) -> EngineConfig:
        """Return this config with everything painted, without a matte."""
        default = EngineConfig()
        return replace(self, matte="", **{name: getattr(default, name) for name in MATTED})

    def without_matte(self) -> EngineConfig:
        """Return this config with everything painted; how mattes are used stays, except green."""
        return replace(self, matte="", paint=_DEFAULT.paint, rest=_DEFAULT.rest)

    def tested(
        self, size: int, precision: Precision, kernels: str = "", network: str = ""
    ) -> EngineConfig:
        """Return this config for a speed test: one input, whose long side is `size` pixels.

        The fields that may change are TESTED.

        Args:
            kernels: The engine; "" for this config's.
            network: The version in place of the automatic one; "" for none.
        """
        one_input = {name: getattr(_DEFAULT, name) for name in ("strokes", "keep_strokes")}
        return replace(
            self,
            size=size,
            precision=precision,
            kernels=kernels or self.kernels,
            network=network if network and self.network == AUTO else self.network,
            **one_input,
        )

    def texture_or(self, automatic: float) -> float:
        """Return the amount of texture, or `automatic` if it is set to automatic."""
        return automatic if self.texture == AUTO else float(self.texture)

    def comb_or(self, direction: float | str, length: float) -> Comb | None:
        """Return how strokes lie, from automatic values where they are set to automatic.

        Strokes that are combed by hand follow the picture until there is a handle.
        """
        if self.strokes_direction != AUTO:
            direction = self.strokes_direction
        if direction == AS_THEY_ARE:
            return None
        if self.strokes_length != AUTO:
            length = float(self.strokes_length)
        if direction == HAND:
            handles = self.strokes_handles
            return Comb(HAND, length, handles) if handles else Comb(FOLLOW, length)
        return Comb(direction, length)


TESTED = (
    "size",
    "precision",
    "kernels",
    "network",
    "strokes",
    "keep_strokes",
)  # a speed test has its own
_DEFAULT = EngineConfig()
_FINISHING = (
    *(name for name, row in PARAMETERS.items() if row.stage is Stage.FINISHING),
    "matte",
)
_DRAGGED = FractionParameter, HandlesParameter
_SLIDERS = tuple(name for name, row in PARAMETERS.items() if isinstance(row, _DRAGGED))


def same_network(a: EngineConfig, b: EngineConfig) -> bool:
    """Return whether two configs differ at most after the network, whose output is the same."""
    # Called for each frame, mostly with the same config.
    return a is b or _same_but(_FINISHING, a, b)


def same_choice(a: EngineConfig, b: EngineConfig) -> bool:
    """Return whether two configs differ at most in the values of sliders, in handles and mattes.

    While the user drags one, or a brush over a mask, the previous result may still be displayed.
    """
    if a.styles == b.styles:
        a = replace(a, mix_more=b.mix_more)
    return _same_but((*_SLIDERS, "matte"), a, b)


def _same_but(names: tuple[str, ...], a: EngineConfig, b: EngineConfig) -> bool:
    return b == replace(a, **{name: getattr(b, name) for name in names})
