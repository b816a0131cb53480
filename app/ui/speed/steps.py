"""The slider's steps from smooth to sharp: style versions, sizes and precisions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.engine.config import EngineConfig
from app.engine.resolution import (
    AUTO_SIZES,
    LEAST_LITE,
    SHARPER,
    Sizes,
    kept_strokes,
    stroke_size,
)
from app.ui.speed.timing import FrameTime, FrameTimes, Kind
from models.precision import Precision
from utils.translation.texts import mark

APART = 1.15  # minimum speed ratio between adjacent steps
TITLES: dict[int, tuple[str, ...]] = {  # by number of steps
    3: (mark("Smoothest"), mark("Automatic"), mark("Sharpest")),
    5: (mark("Smoothest"), mark("Smoother"), mark("Automatic"), mark("Sharper"), mark("Sharpest")),
}


@dataclass(frozen=True, slots=True)
class Step:
    """A combination that the slider chooses; `size` None means Automatic.

    Attributes:
        size: The long side of the sharper input in pixels; strokes keep their width.
    """

    network: str = "auto"
    size: int | None = None
    precision: Precision = Precision.fp32

    def applied(self, config: EngineConfig) -> EngineConfig:
        """Return `config` with this combination; the width of its strokes is unchanged."""
        return replace(
            config,
            network=self.network,
            size=self.size,
            precision=self.precision,
            kernels=EngineConfig().kernels,
            keep_strokes=self.size is not None,
        )


AUTOMATIC = Step()


@dataclass(frozen=True, slots=True)
class Machine:
    """The inputs for choosing steps.

    Attributes:
        frame: (width, height) of the frames.
        strokes: A key of app.options.STROKES.
        now: Kind and sizes that Automatic currently runs; None before it has run.
        fast: The fastest precision in which the device computes well.
    """

    times: FrameTimes
    frame: tuple[int, int]
    strokes: str = "medium"
    now: tuple[Kind, Sizes] | None = None
    fast: Precision = Precision.fp32
    has_lite: bool = True

    @property
    def stroke_size(self) -> int:
        """Long side in pixels of the input that determines the width of strokes."""
        return stroke_size(self.strokes)

    def sizes(self, size: int) -> Sizes:
        return kept_strokes(*self.frame, size, self.stroke_size)

    def time(self, step: Step) -> FrameTime | None:
        """Return the frame time of a step; None before any measurement."""
        if step.size is None:
            return None if self.now is None else self.times.of(self.now[0], self.now[1].pixels)
        kind = Kind(step.network == "lite", step.precision)
        return self.times.of(kind, self.sizes(step.size).pixels)


def steps_for(machine: Machine, chosen: Step = AUTOMATIC) -> list[Step]:
    """Return three or five steps from smooth to sharp, with Automatic in the middle.

    If Automatic is as fast as the fastest network that keeps the width of strokes, the smoothest
    step uses the smallest automatic size, with wider strokes, as Automatic does on slow machines.
    """
    smooth, sharp = _smooth(machine), _sharp(machine)
    automatic = machine.time(AUTOMATIC)
    if chosen.size is not None and chosen not in (*smooth, *sharp):
        side = smooth if chosen.network == "lite" else sharp
        side[-1:] = [chosen]
    if automatic is None:
        return [smooth[-1], AUTOMATIC, sharp[-1]]
    before = _between(machine, smooth, automatic, chosen)
    after = _between(machine, sharp, automatic, chosen)
    if before is None or after is None:
        return [
            chosen if chosen in smooth else smooth[-1],
            AUTOMATIC,
            chosen if chosen in sharp else sharp[-1],
        ]
    return [smooth[-1], before, AUTOMATIC, after, sharp[-1]]


def _smooth(machine: Machine) -> list[Step]:
    """Return steps that may be faster than Automatic, the fastest last."""
    lite = "lite" if machine.has_lite else "full"
    size = machine.stroke_size
    sharper = next((s for s in AUTO_SIZES if s > SHARPER * size), size)
    made = [Step(lite, sharper, machine.fast), Step(lite, size, machine.fast)]
    automatic, fastest = machine.time(AUTOMATIC), machine.time(made[-1])
    if automatic and fastest and automatic.ms < APART * fastest.ms:
        made.append(Step(lite, LEAST_LITE, machine.fast))
    return made


def _sharp(machine: Machine) -> list[Step]:
    """Return steps that may be sharper than Automatic, the sharpest last."""
    largest = min(max(machine.frame), AUTO_SIZES[-1])
    sizes = [s for s in AUTO_SIZES if SHARPER * machine.stroke_size < s < largest]
    return [Step("full", s) for s in (*sizes, largest)]


def _between(machine: Machine, side: list[Step], automatic: FrameTime, chosen: Step) -> Step | None:
    """Return the step of a side closest in time to the mean of Automatic and the side's end.

    Return None if no step differs enough from both.
    """
    end = machine.time(side[-1])
    if end is None:
        return None
    low, high = sorted((automatic.ms, end.ms))
    found = {
        step: time.ms
        for step in side[:-1]
        if (time := machine.time(step)) and APART * low <= time.ms <= high / APART
    }
    if chosen in found:
        return chosen
    middle = (low * high) ** 0.5
    return min(found, key=lambda s: max(found[s] / middle, middle / found[s]), default=None)
