"""The results of the engine, values that may cross threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

from app.engine.config import EngineConfig
from app.frame import Frame
from kernels.frames.combing import Comb
from models.precision import Precision
from utils.translation.joints import clauses, labeled
from utils.translation.texts import tr

LEAST_TIMED = 3  # frames; fewer give no median, percentile or rate
EQUAL = 0.02  # of a ratio, up to which two networks are equally fast


@dataclass(frozen=True, slots=True)
class Timings:
    """The latency of a frame in milliseconds, by stage, from capture to the end of the engine.

    Attributes:
        read: Grabbing and decoding, by the source; not part of the stages below.
        queue: Between upload and network, while the GPU computes the frame before; or before a
            move, while the GPU ends a piece of a painting.
        network: The network; on a GPU measured by CUDA events.
        groups: The parts of `network` by name: encoder, residual blocks, decoder.
        layers: The parts of `groups` by group and name, "encoder/conv1", if every layer is timed;
            otherwise empty.
        blend: Smoothing, upsampling and mixing with the frame.
        comparison: The other network of a comparison, and measuring the difference.
        wait: From the capture until the engine took the frame.
        resize: Scaling the frame to the network's input and adding texture; in streams on a GPU
            concurrent with the frame ahead.
        copy: Making copies in the size of the display.
        motion: Moving the last painting with the scene, while the next one is painted.
    """

    read: float = 0.0
    upload: float = 0.0
    network: float = 0.0
    download: float = 0.0
    groups: tuple[tuple[str, float], ...] = ()
    blend: float = 0.0
    comparison: float = 0.0
    wait: float = 0.0
    resize: float = 0.0
    copy: float = 0.0
    other: float = 0.0
    queue: float = 0.0
    motion: float = 0.0
    layers: tuple[tuple[str, float], ...] = ()

    def __add__(self, other: Timings) -> Timings:
        return Timings._combined((self, other), sum)

    def share(self, count: int) -> Timings:
        """Return the share of one of `count` frames that were computed together."""
        return self if count == 1 else Timings._combined((self,), lambda ms: sum(ms) / count)

    @staticmethod
    def mean(every: Sequence[Timings]) -> Timings:
        """Average the times of at least one frame, with the groups and layers of the last one."""
        return Timings._combined(every, lambda values: fmean(list(values)), every[-1:])

    @staticmethod
    def _combined(
        every: Sequence[Timings],
        combine: Callable[[Iterable[float]], float],
        named: Sequence[Timings] = (),
    ) -> Timings:
        combined: dict[str, Any] = {}
        for name in (field.name for field in fields(Timings)):
            values = [getattr(each, name) for each in every]
            if name not in ("groups", "layers"):
                combined[name] = combine(values)
                continue
            tables = [dict[str, float](value) for value in values]
            shown = [dict[str, float](getattr(each, name)) for each in named or every]
            parts = dict.fromkeys(part for table in shown for part in table)
            combined[name] = tuple((p, combine([t[p] for t in tables if p in t])) for p in parts)
        return Timings(**combined)

    @property
    def engine(self) -> float:
        """The time of the engine, without waiting for the frame ahead."""
        network = self.upload + self.network + self.download
        return self.resize + network + self.motion + self.blend + self.comparison

    @property
    def total(self) -> float:
        """The time of the engine's thread: everything but reading and waiting."""
        return self.engine + self.queue + self.copy + self.other


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A description of what ran for a frame, which may differ from the config.

    str() returns the status line: "Fused, FP32, CPU: no CUDA device", or for a mix "Candy 60 %,
    Starry Night 40 %; Fused, Lite, FP32, CPU".

    Attributes:
        kernels: The title of the variant, such as "Fused".
        device: The title of the device: "CPU", "NVIDIA H200 (cuda:0)".
        limitations: Why nothing faster ran, one clause each.
        style: The title of the style, or all titles of a mix with their shares.
        network: The name of a network that paints many styles; "" for a single-style network.
    """

    kernels: str
    precision: Precision
    device: str
    limitations: tuple[str, ...] = ()
    style: str = ""
    mixed: bool = False
    lite: bool = False
    network: str = ""

    def __str__(self) -> str:
        lite = "Lite, " if self.lite else ""
        network = f"{self.network}, " if self.network else ""
        what = f"{network}{self.kernels}, {lite}{self.precision.title}, {self.device}"
        if self.mixed:
            what = f"{self.style}; {what}"
        # Limitations that are compared with a constant are still in English.
        return labeled(what, clauses(map(tr, self.limitations))) if self.limitations else what


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """The median and the 95th percentile of the times of a series of frames, in milliseconds."""

    median: float
    p95: float

    @property
    def fps(self) -> float:
        """Frames per second at the median; 0 if nothing was measured."""
        return 1000.0 / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The baseline and another network on the same frames, at the same size and precision.

    If the other network is in another runtime, our fused network takes the place of the baseline.

    Attributes:
        fused_title: The title of the other network: the config's, or the fused one if the config's
            is the baseline.
        baseline_latency: Latency of the baseline alone, on its fastest path from uint8 to uint8.
        fused_latency: Latency of the other network, measured in the same way.
        difference: Largest absolute difference of their outputs, 0-255, before rounding. It is
            measured outside the times, like `psnr`.
        psnr: Their PSNR in dB.
        bound: The bound within which they agree: "largest difference at most 0.5 of 255".
        frames: How many frames the latencies cover; 0 for the first one, which warms up.
        size: (width, height) of their inputs.
        frame_ms: The times of this frame alone, the baseline's first; see `frames` for whether it
            counts.
    """

    baseline: Frame
    fused: Frame
    fused_title: str
    baseline_latency: LatencyStats
    fused_latency: LatencyStats
    difference: float
    psnr: float
    bound: str
    agrees: bool
    frames: int
    size: tuple[int, int]
    precision: Precision
    baseline_title: str = "Baseline"
    frame_ms: tuple[float, float] = (0.0, 0.0)

    @property
    def settled(self) -> bool:
        """Whether the latencies cover enough frames to be told."""
        return self.frames >= LEAST_TIMED

    @property
    def ratio(self) -> float | None:
        """The baseline's median time divided by the other network's, which may be below 1.

        None if the pictures disagree.
        """
        return self.baseline_latency.median / self.fused_latency.median if self.agrees else None


@dataclass(frozen=True, slots=True, eq=False)
class StyledFrame:
    """A styled frame, whose pixels are never written to again.

    Attributes:
        frame: The result, with the index and the time of `source`.
        size: (width, height) of the network's input.
        captured: The frame as it was captured, if `source` is a smaller copy of it.
        finished_at: `time.perf_counter()` when the engine's thread was done with it.
        batch: How many frames went through the network together.
        texture: The amount of texture in the network's input, 0 to 1.
        comb: How its strokes lie; None as they are.
        bands: Why the network ran in bands of rows, as a clause; "" if it ran at once.
        moved: Whether the result is the painting of an earlier frame, moved with the scene.
    """

    frame: Frame
    source: Frame
    config: EngineConfig
    timings: Timings
    size: tuple[int, int]
    running: RunInfo
    comparison: Comparison | None = None
    captured: Frame | None = None
    finished_at: float = 0.0
    batch: int = 1
    texture: float = 0.0
    comb: Comb | None = None
    bands: str = ""
    moved: bool = False
