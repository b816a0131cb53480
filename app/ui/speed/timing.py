"""Frame time by style version, precision and sizes: measured or estimated."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

from app.engine.resolution import GROWTH
from models.precision import Precision

KEPT = 9  # frames of one kind in a median
COUNTED = 3  # minimum frames for a median
# Speed of the lite network over the full one, and of FP16 over FP32: on a CPU from
# benchmarks/reports/live.json (69.4 and 17.6 fps at 320x240), on a GPU from an H200 at 1280x720
# (full 1.53 ms in FP32 and 0.65 in FP16, lite 0.75 and 0.34). Used until times are measured.
LITE_GAIN = {"cpu": 3.9, "gpu": 2.0}
HALF_GAIN = {"cpu": 1.0, "gpu": 2.3}


@dataclass(frozen=True, slots=True)
class Kind:
    """Network (lite or full) and precision of a time."""

    lite: bool
    precision: Precision


@dataclass(frozen=True, slots=True)
class FrameTime:
    """The time of a frame in milliseconds, and whether it was measured on this machine."""

    ms: float
    measured: bool

    @property
    def fps(self) -> float:
        return 1000 / self.ms


class FrameTimes:
    """Times of the stream's frames on one device, by kind and input pixels of the network."""

    def __init__(self) -> None:
        self._device = ""
        self._times: dict[tuple[Kind, int], deque[float]] = {}
        self._last: tuple[Kind, int] | None = None

    def add(self, device: str, kind: Kind, pixels: int, ms: float) -> bool:
        """Record a frame's time; return whether the time of its kind and size became known with it.

        The first frame after another kind or size is not counted.

        Args:
            device: "cpu" or "gpu"; a change discards all earlier times.
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
        """Discard all times, since the kernels or the device changed."""
        self._times.clear()
        self._last = None

    def of(self, kind: Kind, pixels: int) -> FrameTime | None:
        """Return the measured time, or an estimate from the nearest one; None before any."""
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
        """Return the time of a kind relative to the full network in FP32."""
        lite = LITE_GAIN[self._device] if kind.lite else 1.0
        half = 1.0 if kind.precision is Precision.fp32 else HALF_GAIN[self._device]
        return 1 / (lite * half)
