"""What the engine is asked for: a value that may cross threads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.parameters import PARAMETERS, FractionParameter, Parameters, Stage
from models.precision import Precision


@dataclass(frozen=True, slots=True)
class EngineConfig(Parameters):
    """Everything that changes what a frame looks like; equality means 'nothing to do'.

    The fields of the table of parameters, and those whose values are not settings as they stand:
    `size` is the long side of the network's input in pixels, None for automatic; the output always
    has the frame's size. `compare` runs baseline and fused on the same frames. `mix` is the key of
    a second style, whose share of the network is `mix_amount`; None for the first alone.
    """

    precision: Precision = Precision.fp32
    size: int | None = None
    compare: bool = False
    mix: str | None = None


_FINISHING = tuple(name for name, row in PARAMETERS.items() if row.stage is Stage.FINISHING)
_SLIDERS = tuple(name for name, row in PARAMETERS.items() if isinstance(row, FractionParameter))


def same_network(a: EngineConfig, b: EngineConfig) -> bool:
    """True if `a` and `b` differ in what is done after the network at most, so that one network
    answers both."""
    return _same_but(_FINISHING, a, b)


def same_choice(a: EngineConfig, b: EngineConfig) -> bool:
    """True if `a` and `b` differ in what sliders set at most: while one is dragged, the picture
    of a moment ago is better than none."""
    return _same_but(_SLIDERS, a, b)


def _same_but(names: tuple[str, ...], a: EngineConfig, b: EngineConfig) -> bool:
    return b == replace(a, **{name: getattr(b, name) for name in names})
