"""What became of a film: its frames, how busy each stage was, and which one limited the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

BUSY = 0.8  # of the time: from here on the network is what a film waits for

CONVERT = "convert"  # making frames for the encoder, beside it; counted as a part of encoding
_TITLES = {
    "decode": "reading",
    "network": "the network",
    "engine": "the work around the network",
    "encode": "encoding",
}


class StageClock:
    """Measures how long each stage worked. Thread-safe."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys([*_TITLES, CONVERT], 0.0)
        self._lock = threading.Lock()

    @contextmanager
    def working(self, stage: str) -> Generator[None]:
        """Count the time of the block for a stage."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - begun)

    def add(self, stage: str, seconds: float) -> None:
        """Count time that was measured elsewhere."""
        with self._lock:
            self._seconds[stage] += seconds

    @property
    def seconds(self) -> dict[str, float]:
        """For each stage how long it worked."""
        with self._lock:
            return dict(self._seconds)

    def shares(self, wall: float) -> dict[str, float]:
        """For each stage the part of `wall` seconds in which it worked, 0 to 1."""
        return shares_of(self.seconds, wall)


def shares_of(seconds: Mapping[str, float], wall: float) -> dict[str, float]:
    """As `StageClock.shares`, of `StageClock.seconds`."""
    spent = {**dict.fromkeys([*_TITLES, CONVERT], 0.0), **seconds}
    spent["encode"] = max(spent["encode"], spent.pop(CONVERT))
    return {stage: min(1.0, each / wall) if wall > 0 else 0.0 for stage, each in spent.items()}


@dataclass(frozen=True, slots=True)
class FilmReport:
    """What became of a film.

    Attributes:
        frames: Of the result.
        resumed: How many of them an earlier run had finished.
        seconds: How long this run took, without pauses.
        shares: For each stage the part of that time in which it worked, 0 to 1: `decode` and
            `encode` on threads of their own, `engine` the thread of the engine, waiting for a GPU
            included, and of that `network` the network alone.
        encoder: FFmpeg's name of the encoder, and what it ran on.
        running: What ran the network.
        remarks: What is not as in the source, one clause each.
        faults: What of the source could not be read, one clause each.
        refused: Why faster encoders could not be used, one clause each.
    """

    frames: int
    resumed: int
    seconds: float
    shares: dict[str, float]
    encoder: str
    running: str
    remarks: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def fps(self) -> float:
        """Frames a second of this run."""
        return (self.frames - self.resumed) / self.seconds if self.seconds else 0.0

    @property
    def limit(self) -> str:
        """The stage that all others waited for, a key of `shares`."""
        if self.shares["network"] >= BUSY:
            return "network"
        return max(("decode", "engine", "encode"), key=self.shares.__getitem__)

    @property
    def sentence(self) -> str:
        """How busy the stages were, and which limits."""
        busy = ", ".join(
            f"{_TITLES[stage].removeprefix('the ')} {100 * self.shares[stage]:.0f} %"
            for stage in ("decode", "network", "encode")
        )
        return f"Busy: {busy}; {_TITLES[self.limit]} limits"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "frames": self.frames,
            "resumed": self.resumed,
            "seconds": round(self.seconds, 3),
            "fps": round(self.fps, 2),
            "busy": {stage: round(share, 3) for stage, share in self.shares.items()},
            "limit": self.limit,
            "encoder": self.encoder,
            "running": self.running,
            "remarks": list(self.remarks),
            "faults": list(self.faults),
            "refused": list(self.refused),
        }
