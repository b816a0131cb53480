"""Measures the engines of this machine, one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from app.engine.comparison import BASELINE, FUSED
from app.engine.config import EngineConfig
from app.engine.network_pool import NetworkPool
from app.engine.post.blending import peak_difference
from app.engine.result import LEAST_TIMED, LatencyStats, Timings
from app.engine.stage_timer import latency_stats
from app.engine.style_weights import ActiveWeights, StyleWeights
from app.speed_test.candidates import CPU, Candidate, candidates
from app.speed_test.compiled import CompiledNetwork
from app.speed_test.layers import LayerTable, common_rows, fits, medians
from app.speed_test.machine import this_machine
from app.speed_test.result import COMPILED, OURS, Row, SpeedResult, replaced
from app.styles.catalog import Catalog
from kernels.table.registry import prepare
from models.families.family import NetworkFamily
from models.precision import Precision
from models.webgpu_devices import is_webgpu
from utils.free_memory import free_bytes
from utils.stop_flag import StopFlag, stopped_by
from utils.translation.numbers import number
from utils.translation.texts import tr

Pixels = NDArray[np.uint8]
LOOKING = -1  # the number of the row under way while engines are looked for
LAYERS = -2  # while layers are timed
LAYERS_SHARE = 0.1  # of the progress, for the layers of one device


@dataclass(frozen=True, slots=True)
class Effort:
    """How long each engine is measured: the same for all.

    Attributes:
        warm_s: Seconds of warm-up, at least `warm` pictures.
        timed_s: Seconds that are timed, at least `least` pictures and at most `most`.
        longest_s: Seconds after which fewer than `least` pictures suffice, down to LEAST_TIMED.
    """

    warm_s: float = 1.0
    warm: int = 2
    timed_s: float = 3.0
    least: int = 7
    most: int = 300
    longest_s: float = 15.0


USUAL = Effort()


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The conditions of a speed test, the same for all engines.

    Attributes:
        config: Its styles are painted.
        lite: Whether to measure the fast version of the style, if there is one.
        pixels: The picture, already in the size of the networks' input.
    """

    config: EngineConfig
    lite: bool
    pixels: Pixels
    precision: Precision

    @property
    def size(self) -> tuple[int, int]:
        return self.pixels.shape[1], self.pixels.shape[0]


@dataclass(frozen=True, slots=True)
class Progress:
    """The rows so far; `number` is the one under way, LOOKING or LAYERS; `share` is done."""

    rows: tuple[Row, ...]
    number: int
    share: float


def measure(
    catalog: Catalog,
    task: Task,
    stop: StopFlag,
    told: Callable[[Progress], object],
    effort: Effort = USUAL,
    listed: Callable[[NetworkFamily[Any]], Sequence[Candidate]] = candidates,
) -> SpeedResult:
    """Measure every engine of this machine; takes about 5 s for each, and more for slow ones.

    Raises:
        Stopped: If `stop` is set, after the picture under way; compiling a network is not
            interrupted.
        StyleForgeError: If the style cannot be read.
    """
    told(Progress((), LOOKING, 0.0))
    weights = StyleWeights(catalog)
    weights.choose(task.config)
    has_lite = task.config.network != "full" and not weights.lite_unavailable_reason
    active = weights.active(lite=task.lite and has_lite)
    found = listed(active.family)
    for operations in active.family.operations:
        prepare(family=operations)
    rows = tuple(
        Row(each.title, each.kernels == FUSED, reason=each.reason, detail=each.detail)
        for each in found
    )
    measuring = _Measuring(task, active, stop, effort)
    # Plain PyTorch first: the others are compared with its picture and its time.
    order = sorted(range(len(found)), key=lambda n: found[n].kernels != BASELINE)
    with stopped_by(stop):
        pairs = layer_pairs(found)
        share = 1 / (len(order) + LAYERS_SHARE * len(pairs))
        for done, place in enumerate(order):
            told(Progress(rows, place, done * share))
            if not rows[place].reason:
                rows = replaced(rows, place, **measuring.row(found[place]))
            stop.check()
        layers: list[LayerTable] = []
        for done, (plain, ours) in enumerate(pairs):
            told(Progress(rows, LAYERS, (len(order) + LAYERS_SHARE * done) * share))
            whole = rows[plain].latency, rows[ours].latency
            if whole[0] is not None and whole[1] is not None:
                layers.append(measuring.layers(found[plain], found[ours], (whole[0], whole[1])))
    return SpeedResult(
        rows,
        task.size,
        task.precision,
        active.label,
        active.lite,
        this_machine(),
        tuple(layers),
    )


def layer_pairs(found: Sequence[Candidate]) -> list[tuple[int, int]]:
    """Return the places of plain PyTorch and of StyleForge for each device that has both."""
    here = [(place, each) for place, each in enumerate(found) if not each.reason]
    ours = {each.device: place for place, each in here if each.kernels == FUSED}
    return [
        (place, ours[each.device])
        for place, each in here
        if each.kernels == BASELINE and each.device in ours
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Reference:
    """Plain PyTorch on a device: its time in ms, and its picture on the CPU."""

    title: str
    milliseconds: float
    raw: Tensor


class _Measuring:
    """Measures candidates; plain PyTorch's pictures are kept for those that follow."""

    def __init__(self, task: Task, active: ActiveWeights, stop: StopFlag, effort: Effort) -> None:
        self._task, self._active, self._stop, self._effort = task, active, stop, effort
        self._references: dict[str, _Reference] = {}  # by GPU

    def row(self, candidate: Candidate) -> dict[str, object]:
        """Return the fields of a candidate's row that its measurement changes."""
        precision, title = self._task.precision, candidate.title
        if precision.value.int8 and candidate.kernels != FUSED:
            precision = Precision.fp16
            title = tr("{engine} in {precision}", engine=title, precision=precision.title)
        if reason := self._refusal(candidate, precision):
            return {"reason": reason, "title": title}
        try:
            times, raw = self._timed(candidate, precision)
        except (RuntimeError, MemoryError) as exc:
            # The ways in which PyTorch, its compiler, a runtime and a driver refuse a network.
            lines = str(exc).strip().splitlines() or [type(exc).__name__]
            return {"reason": tr("failed"), "detail": lines[0], "title": title}
        finally:
            if candidate.device.type == "cuda":
                torch.cuda.empty_cache()
        latency = latency_stats(times)
        fields = {"latency": latency, "title": title}
        if candidate.kernels == BASELINE:
            self._references[candidate.gpu] = _Reference(title, latency.median, raw)
            return fields
        # A GPU that only WebGPU reaches is compared with the processor.
        reference = self._references.get(candidate.gpu) or self._references.get("")
        if reference is None:
            return fields
        agrees, _ = self._task.precision.agree(*peak_difference(raw, reference.raw))
        ratio = reference.milliseconds / latency.median if agrees else None
        return {**fields, "ratio": ratio, "beside": reference.title, "differs": not agrees}

    def layers(
        self, plain: Candidate, ours: Candidate, latencies: tuple[LatencyStats, LatencyStats]
    ) -> LayerTable:
        """Time the layers of two networks in one precision; `latencies` are their whole times."""
        device = ours.title.removeprefix(f"{OURS}, ")
        if self._task.precision.value.int8:
            return LayerTable(device, reason=tr("Plain PyTorch has no INT8 to compare layers with"))
        timed: list[dict[str, float]] = []
        for candidate, latency in zip((plain, ours), latencies, strict=True):
            try:
                layers = medians(self._layered(candidate))
            except (RuntimeError, MemoryError) as exc:
                lines = str(exc).strip().splitlines() or [type(exc).__name__]
                return LayerTable(device, reason=lines[0])
            finally:
                if candidate.device.type == "cuda":
                    torch.cuda.empty_cache()
            if not layers:
                reason = tr("{engine} has no times by layer here", engine=candidate.title)
                return LayerTable(device, reason=reason)
            if not fits(layers, latency.median):
                reason = tr(
                    "The layers of {engine} take {layers} ms together, and its picture {ms} ms: "
                    "measure again",
                    engine=candidate.title,
                    layers=number(sum(layers.values()), 1),
                    ms=number(latency.median, 1),
                )
                return LayerTable(device, reason=reason)
            timed.append(layers)
        rows = common_rows(*timed)
        reason = "" if rows else tr("The two networks have no layers in common")
        return LayerTable(device, rows, reason)

    def _layered(self, candidate: Candidate) -> list[Timings]:
        """Return the timings of pictures whose layers are timed, after a warm-up."""
        network = NetworkPool().get(
            candidate.kernels,
            self._task.precision,
            candidate.device,
            self._active,
            by_layer=True,
        )
        found: list[Timings] = []

        def paint() -> float:
            rendering = network.render(self._task.pixels, between=lambda share: self._stop.check())
            found.append(rendering.timings)
            return rendering.network_ms

        effort = replace(self._effort, timed_s=self._effort.timed_s / 2)
        times = self._repeated(paint, effort)
        return found[-len(times) :]

    def _refusal(self, candidate: Candidate, precision: Precision) -> str:
        """Return why a candidate is not measured in a precision, as a clause; "" if it is."""
        family, device = self._active.family, candidate.device
        kernels = BASELINE if candidate.kernels == COMPILED else candidate.kernels
        if is_webgpu(device):
            return family.webgpu_refusal(
                self._active.network, kernels, device, precision, self._task.size
            )
        runtime = family.variant(kernels).runtime
        if runtime is not None:
            return runtime.refusal(precision)
        if reason := family.absence(kernels, precision, device):
            return tr(reason)
        width, height = self._task.size
        needed = width * height * family.memory_per_pixel(device, precision)
        free = free_bytes(device)
        if needed <= free:
            return ""
        return tr(
            "needs {needed} GB of memory, and {free} GB are free",
            needed=number(needed / 1e9, 1),
            free=number(free / 1e9, 1),
        )

    def _timed(self, candidate: Candidate, precision: Precision) -> tuple[list[float], Tensor]:
        """Return the times of the pictures in ms, and one picture's values on the CPU."""
        pixels, device = self._task.pixels, candidate.device
        if candidate.kernels == COMPILED:
            compiled = CompiledNetwork(self._active, precision, device)
            try:
                times = self._repeated(lambda: compiled.milliseconds(pixels))
                return times, compiled.raw(pixels).cpu()
            finally:
                compiled.forget()
        network = NetworkPool().get(candidate.kernels, precision, device, self._active)

        def paint() -> float:
            if network.overlaps:
                return network.start(pixels).wait().network_ms
            return network.render(pixels, between=lambda share: self._stop.check()).network_ms

        return self._repeated(paint), network.raw(pixels).to(CPU)

    def _repeated(self, paint: Callable[[], float], effort: Effort | None = None) -> list[float]:
        """Warm up, then return the times of pictures in ms; see Effort."""
        effort, begun, painted = effort or self._effort, time.perf_counter(), 0
        while painted < effort.warm or time.perf_counter() - begun < effort.warm_s:
            self._stop.check()
            paint()
            painted += 1
        times: list[float] = []
        begun = time.perf_counter()
        while len(times) < effort.most:
            spent = time.perf_counter() - begun
            enough = effort.longest_s if len(times) < effort.least else effort.timed_s
            if len(times) >= LEAST_TIMED and spent >= enough:
                break
            self._stop.check()
            times.append(paint())
        return times
