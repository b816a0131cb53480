"""A measure of flicker: the change of a styled stream per frame over its source's change."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from app.engine.result import StyledFrame

FRAMES = 30  # changes to average over
APART_S = 1 / 100  # least time between measurements: the eye sees no faster flicker
STILL = 0.05  # levels (0-255); a source that changes less is still
_SAMPLES = 96  # pixels sampled along the long side; more give the same figures


@dataclass(frozen=True, slots=True)
class Flicker:
    """Mean absolute change from one frame to the next, in levels (0-255)."""

    output: float
    source: float

    @property
    def ratio(self) -> float | None:
        """The output's change divided by the source's; None if the source does not change."""
        return self.output / self.source if self.source >= STILL else None


class FlickerMeter:
    """The average change over the last frames; another config or size begins a new average."""

    def __init__(self) -> None:
        self._last: StyledFrame | None = None
        self._changes: deque[tuple[float, float]] = deque(maxlen=FRAMES)
        self._measured = -math.inf  # when the newest frame was captured

    def add(self, styled: StyledFrame) -> None:
        last, self._last = self._last, styled
        if last is None or not _continues(styled, last):
            self._changes.clear()
            return
        if 0 <= styled.source.captured_at - self._measured < APART_S:
            return
        self._measured = styled.source.captured_at
        self._changes.append(
            (
                _change(styled.frame.pixels, last.frame.pixels),
                _change(styled.source.pixels, last.source.pixels),
            )
        )

    @property
    def flicker(self) -> Flicker | None:
        """The average over the last frames; None before the second frame."""
        if not self._changes:
            return None
        outputs, sources = zip(*self._changes, strict=True)
        return Flicker(fmean(outputs), fmean(sources))


def _continues(new: StyledFrame, old: StyledFrame) -> bool:
    same = (new.config, new.size, new.running) == (old.config, old.size, old.running)
    return same and new.source.pixels.shape == old.source.pixels.shape


def _change(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    step = max(1, max(a.shape) // _SAMPLES)
    difference = a[::step, ::step].astype(np.int16) - b[::step, ::step]
    return float(np.abs(difference).mean())
