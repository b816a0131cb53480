"""The engine's configuration: a value that may cross threads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.parameters import PARAMETERS, FractionParameter, Parameters, Stage
from models.precision import Precision


@dataclass(frozen=True, slots=True)
class EngineConfig(Parameters):
    """Everything that determines the result for a frame: equal configs give equal results.

    The fields of app.parameters.Parameters, and those that are no settings themselves.

    Attributes:
        precision: What to compute in.
        size: The long side of the network's input in pixels; None for automatic. The result has
            the frame's size in any case.
        compare: Whether to run the baseline and another network on the same frames.
        mix: The key of a second style, whose share of the weights is `mix_amount`; None for the
            first style alone.
    """

    precision: Precision = Precision.fp32
    size: int | None = None
    compare: bool = False
    mix: str | None = None

    @property
    def styles(self) -> tuple[str, ...]:
        """The keys of the style, or of those that are mixed."""
        return (self.style,) if self.mix in (None, self.style) else (self.style, self.mix)


_FINISHING = tuple(name for name, row in PARAMETERS.items() if row.stage is Stage.FINISHING)
_SLIDERS = tuple(name for name, row in PARAMETERS.items() if isinstance(row, FractionParameter))


def same_network(a: EngineConfig, b: EngineConfig) -> bool:
    """Whether two configs differ at most in what follows the network, so that its output is the
    same."""
    return _same_but(_FINISHING, a, b)


def same_choice(a: EngineConfig, b: EngineConfig) -> bool:
    """Whether two configs differ at most in the values of sliders: while one is being dragged,
    the result of a moment ago may still be displayed."""
    return _same_but(_SLIDERS, a, b)


def _same_but(names: tuple[str, ...], a: EngineConfig, b: EngineConfig) -> bool:
    return b == replace(a, **{name: getattr(b, name) for name in names})
