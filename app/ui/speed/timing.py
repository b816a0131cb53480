"""How long a frame takes with a version of the style, a precision and sizes: measured, or about."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

from app.engine.resolution import GROWTH
from models.precision import Precision

KEPT = 9  # frames of one kind that a time is the median of
COUNTED = 3  # of them at least
# How much faster the lite network is than the full one, and FP16 than FP32: on a CPU by
# benchmarks/live.json (69.4 and 17.6 fps at 320x240), on a GPU by an H200 at 1280x720 (full 1.53 ms
# in FP32 and 0.65 in FP16, lite 0.75 and 0.34). They serve what was not measured yet.
LITE_GAIN = {"cpu": 3.9, "gpu": 2.0}
HALF_GAIN = {"cpu": 1.0, "gpu": 2.3}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a time belongs to: the lite network or the full one, and a precision."""

    lite: bool
    precision: Precision


@dataclass(frozen=True, slots=True)
class FrameTime:
    """The time of a frame in milliseconds, and whether it was measured on this machine."""

    ms: float
    measured: bool

    @property
    def fps(self) -> float:
        """Frames a second."""
        return 1000 / self.ms


class FrameTimes:
    """The times of the stream's frames on one device, by kind and pixels of the network's input."""

    def __init__(self) -> None:
        self._device = ""
        self._times: dict[tuple[Kind, int], deque[float]] = {}
        self._last: tuple[Kind, int] | None = None

    def add(self, device: str, kind: Kind, pixels: int, ms: float) -> bool:
        """Record a frame; the first one of a kind and a size prepares it, and does not count.

        Args:
            device: "cpu" or "gpu"; of another one than before, all else is forgotten.
            kind: Of the network.
            pixels: Of its input, or inputs.
            ms: The engine's time.

        Returns:
            Whether something became known that was not.
        """
        if device != self._device:
            self.clear()
            self._device = device
        repeated, self._last = (kind, pixels) == self._last, (kind, pixels)
        if not repeated:
            return False
        times = self._times.setdefault((kind, pixels), deque(maxlen=KEPT))
        times.append(ms)
        return len(times) == COUNTED

    def clear(self) -> None:
        """Forget all, since the kernels or the device are others."""
        self._times.clear()
        self._last = None

    def of(self, kind: Kind, pixels: int) -> FrameTime | None:
        """The time of a frame: measured, or computed from the nearest measured one; None while
        nothing was measured."""
        known = {key: median(each) for key, each in self._times.items() if len(each) >= COUNTED}
        if (kind, pixels) in known:
            return FrameTime(known[kind, pixels], measured=True)
        if not known:
            return None

        def distance(key: tuple[Kind, int]) -> tuple[int, float]:
            other, at = key
            unlike = 2 * (other.lite != kind.lite) + (other.precision is not kind.precision)
            return unlike, max(at, pixels) / min(at, pixels)

        (nearest, at) = min(known, key=distance)
        ms = known[nearest, at] * (pixels / at) ** GROWTH
        return FrameTime(ms * self._cost(kind) / self._cost(nearest), measured=False)

    def _cost(self, kind: Kind) -> float:
        """The time of a kind in units of the full network's in FP32."""
        lite = LITE_GAIN[self._device] if kind.lite else 1.0
        half = 1.0 if kind.precision is Precision.fp32 else HALF_GAIN[self._device]
        return 1 / (lite * half)
