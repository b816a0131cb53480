"""Reports of conversions: replacements, skipped parts with reasons, and the gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of the model, or a kind of replacement, that was not replaced, and why."""

    what: str
    reason: str


@dataclass(eq=False)
class ConversionStats(Mapping[str, Any]):
    """The outcome of a conversion, by attribute or by key: `stats["total_replaced"]`.

    If a converted model was changed, it runs as the original; the figures then say so.

    Attributes:
        replaced: The number of replacements by kind.
        speedup_achieved: The model's time over the converted one's; 1 if not measured.
        max_difference: The largest difference of results, relative to the largest value.
        found_by: "torch.export", "modules" if the model could not be exported, or "".
        execution: How the converted model runs, such as "channels_last, CUDA graph".
        times_ms: The median time of a call by way of execution; "original" is the model itself.
    """

    replaced: dict[str, int] = field(default_factory=dict[str, int])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    speedup_achieved: float = 1.0
    max_difference: float = 0.0
    found_by: str = ""
    execution: str = "as the original"
    times_ms: dict[str, float] = field(default_factory=dict[str, float])

    _suspended: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False)

    @property
    def linear_relu_replaced(self) -> int:
        return self.replaced.get("linear_relu", 0)

    @property
    def conv_bn_relu_replaced(self) -> int:
        return self.replaced.get("conv_bn_relu", 0)

    @property
    def layernorm_relu_replaced(self) -> int:
        return self.replaced.get("layernorm_relu", 0)

    @property
    def total_replaced(self) -> int:
        return sum(self.replaced.values())

    def skip(self, what: str, reason: str) -> None:
        self.skipped.append(Skipped(what, reason))

    def suspend(self, reason: str) -> None:
        """Put the program's figures aside, because the original runs."""
        if not self._suspended:
            self._suspended = {name: getattr(self, name) for name in _OF_PROGRAM}
            self.replaced, self.execution, self.speedup_achieved = {}, "as the original", 1.0
            self.max_difference = 0.0
            told = Skipped("the whole model", f"it runs as the original model: {reason}")
            if told not in self.skipped:
                self.skipped.append(told)

    def resume(self) -> None:
        """Restore the program's figures, because it runs again."""
        if self._suspended:
            for name, value in self._suspended.items():
                setattr(self, name, value)
            self._suspended = {}

    def __getitem__(self, name: str) -> Any:
        if name.endswith("_replaced") and name.removesuffix("_replaced") in self.replaced:
            return self.replaced[name.removesuffix("_replaced")]
        if name not in _NAMES:
            raise KeyError(f"no statistic '{name}'; there are {', '.join(self)}")
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        yield from _NAMES
        yield from (f"{k}_replaced" for k in self.replaced if f"{k}_replaced" not in _NAMES)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.replaced.items() if count)
        lines = [
            f"replaced: {kinds or 'nothing'}",
            f"runs: {self.execution}; {self.speedup_achieved:.2f}x the speed of the original",
            f"largest difference: {self.max_difference:.1e}",
            *(f"skipped: {each.what}: {each.reason}" for each in self.skipped),
        ]
        return "\n".join(lines)


_OF_PROGRAM = ("replaced", "execution", "speedup_achieved", "max_difference")
_NAMES = (
    "linear_relu_replaced",
    "conv_bn_relu_replaced",
    "layernorm_relu_replaced",
    "total_replaced",
    "speedup_achieved",
    "max_difference",
    "found_by",
    "execution",
    "times_ms",
    "skipped",
)
