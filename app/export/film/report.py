"""Reports on films: frame counts, the load of each stage, and the stage that limited the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

BUSY = 0.8  # of the time: from this share on, the network limits a film

CONVERT = "convert"  # making frames for the encoder on other threads; counted as part of encoding
_TITLES = {
    "decode": "reading",
    "network": "the network",
    "engine": "the work around the network",
    "encode": "encoding",
}


class StageClock:
    """A thread-safe clock that measures how long each stage works."""

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
        with self._lock:
            self._seconds[stage] += seconds

    @property
    def seconds(self) -> dict[str, float]:
        """The working time of each stage, in seconds."""
        with self._lock:
            return dict(self._seconds)

    def shares(self, wall: float) -> dict[str, float]:
        """Return the fraction of `wall` seconds that each stage worked, 0 to 1."""
        return shares_of(self.seconds, wall)


def shares_of(seconds: Mapping[str, float], wall: float) -> dict[str, float]:
    spent = {**dict.fromkeys([*_TITLES, CONVERT], 0.0), **seconds}
    spent["encode"] = max(spent["encode"], spent.pop(CONVERT))
    return {stage: min(1.0, each / wall) if wall > 0 else 0.0 for stage, each in spent.items()}


@dataclass(frozen=True, slots=True)
class FilmReport:
    """The result of making a film; `seconds` excludes pauses, and remarks are clauses.

    Attributes:
        resumed: How many of them an earlier run had finished.
        shares: The fraction of that time that each stage worked, 0 to 1. `decode` and `encode` run
            on their own threads. `engine` is the engine's thread, including waits for a GPU;
            `network` is the network's part of it.
        encoder: FFmpeg's name of the encoder, and the hardware it ran on.
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
        """Frames per second of this run."""
        return (self.frames - self.resumed) / self.seconds if self.seconds else 0.0

    @property
    def limit(self) -> str:
        """The stage that all others waited for, a key of `shares`."""
        if self.shares["network"] >= BUSY:
            return "network"
        return max(("decode", "engine", "encode"), key=self.shares.__getitem__)

    @property
    def sentence(self) -> str:
        """The load of the stages, and which one limits."""
        busy = ", ".join(
            f"{_TITLES[stage].removeprefix('the ')} {100 * self.shares[stage]:.0f} %"
            for stage in ("decode", "network", "encode")
        )
        return f"Busy: {busy}; {_TITLES[self.limit]} limits"

    def as_dict(self) -> dict[str, Any]:
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
