"""What the engine gives back: values that may cross threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from app.engine.config import EngineConfig
from app.frame import Frame
from app.options import NETWORKS
from models.precision import Precision


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds spent on one frame, from its capture until the engine's thread is done with it.

    `read` is the source's own (grabbing, decoding) and not part of the rest. What follows is one
    after the other: `wait` until the engine took the frame, `resize` to the network's input,
    `upload`, `network` (split by `groups` into encoder, residual blocks and decoder; on a GPU from
    CUDA events), `download`, `blend` (smoothing, scaling up, mixing with the frame), `comparison`
    (all that the other network of a comparison took, and measuring the difference), `copy` (copies
    in the size of the display) and `other`, what none of these explains.
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

    def __add__(self, other: Timings) -> Timings:
        """Both, one after the other."""
        return Timings._combined((self, other), sum)

    @staticmethod
    def mean(every: Sequence[Timings]) -> Timings:
        """The mean of at least one; of the groups, those that the newest frame has."""
        return Timings._combined(every, lambda values: fmean(list(values)), every[-1:])

    @staticmethod
    def _combined(
        every: Sequence[Timings],
        combine: Callable[[Iterable[float]], float],
        named: Sequence[Timings] = (),
    ) -> Timings:
        tables = [dict(each.groups) for each in every]
        names = dict.fromkeys(name for each in named or every for name, _ in each.groups)
        groups = tuple((n, combine([t[n] for t in tables if n in t])) for n in names)
        spent = {
            field.name: combine([getattr(each, field.name) for each in every])
            for field in fields(Timings)
            if field.name != "groups"
        }
        return Timings(groups=groups, **spent)

    @property
    def engine(self) -> float:
        """What the engine spent on the frame."""
        network = self.upload + self.network + self.download
        return self.resize + network + self.blend + self.comparison

    @property
    def total(self) -> float:
        """What the engine's thread spent: all but reading, which is the source's, and waiting."""
        return self.engine + self.copy + self.other


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What really ran, which may differ from what was asked; `remarks` are sentences that say
    why not something faster. str(running) is the status line: "Fused, FP32, CPU: no CUDA device",
    "Candy 60 %, Starry Night 40 %; Fused, Lite, FP32, CPU".
    """

    kernels: str  # title, "Fused"
    precision: Precision
    device: str  # "CPU", "NVIDIA H200 (cuda:0)"
    limitations: tuple[str, ...] = ()
    style: str = ""  # the title, or those of a mix with their shares
    mixed: bool = False
    lite: bool = False

    def __str__(self) -> str:
        lite = f"{NETWORKS['lite'].title}, " if self.lite else ""
        what = f"{self.kernels}, {lite}{self.precision.title}, {self.device}"
        if self.mixed:
            what = f"{self.style}; {what}"
        return f"{what}: {'; '.join(self.limitations)}" if self.limitations else what


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """Milliseconds per frame over the last frames compared."""

    median: float
    p95: float

    @property
    def fps(self) -> float:
        return 1000.0 / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Baseline beside fused on the same frames, at the same size and precision.

    `baseline_pace` and `fused_pace` are of each network alone by its own fastest path, from the
    bytes of its input to the bytes of its picture. `size` is the (width, height) both worked at,
    `precision` what both computed in. `fused_title` names the kernels beside the baseline: those
    chosen, or the fused ones where the baseline itself is chosen. `difference` is the largest
    absolute difference of the two networks' outputs (0-255, before rounding), `psnr` in dB; both
    are measured outside the times. `ratio` is baseline median over fused median, also when it is
    below 1; None, withheld, while the pictures differ by more than `bound` says.
    """

    baseline: Frame
    fused: Frame
    fused_title: str
    baseline_pace: LatencyStats
    fused_pace: LatencyStats
    difference: float
    psnr: float
    bound: str  # "largest difference at most 0.5"
    agrees: bool
    frames: int  # how many frames the paces cover
    size: tuple[int, int]
    precision: Precision

    @property
    def ratio(self) -> float | None:
        return self.baseline_pace.median / self.fused_pace.median if self.agrees else None


@dataclass(frozen=True, slots=True, eq=False)
class StyledFrame:
    """A styled frame. `frame` has the index and captured_at of `source`, `config` is the config
    that was asked for, `running` what ran, `size` the (width, height) the network worked at.
    `captured` is the frame as it was captured where `source` is a smaller copy of it.
    `finished_at` is `time.perf_counter()` when the engine's thread was done with it. Pixels are
    never written to again, whoever holds them."""

    frame: Frame
    source: Frame
    config: EngineConfig
    timings: Timings
    size: tuple[int, int]
    running: RunInfo
    comparison: Comparison | None = None
    captured: Frame | None = None
    finished_at: float = 0.0
