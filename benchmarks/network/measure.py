"""Measurement of one style's network at one size: times, errors and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from app.engine.post.blending import peak_difference
from app.sources.scene import render
from benchmarks.network.candidates import (
    BASELINE,
    COMPILED,
    PYTORCH_ONLY,
    REWRITTEN,
    Candidate,
    compiled_candidate,
    eager_candidate,
    graph_candidate,
)
from benchmarks.network.float64 import in_float64
from benchmarks.network.roofline import RATES, activation_bytes, floor_ms
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.network_config import network_config
from models.precision import Precision
from models.pytorch_rewrites import with_rewrites
from models.transformer_net import ALL_VARIANTS, TransformerNetBaseline
from utils.benchmark import interleave, stopwatch
from utils.free_memory import free_bytes

WARMUP = {"cpu": 1, "cuda": 10}
MAX_SECONDS = 20.0  # slower candidates are not run (FP16 on most CPUs)
FUSED = "fused"  # a key of ALL_VARIANTS
PROBE_SIDE = 64  # side of the corner used to estimate the time

Timed = Callable[[], object]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """Options of a measurement.

    Attributes:
        kernels: Keys of the variants.
        pause_s: Seconds to wait before each timed call, until idle threads of the call before it
            no longer spin.
        compile_mode: A key of COMPILE_MODES; None to compile nothing.
    """

    kernels: tuple[str, ...]
    precisions: tuple[Precision, ...]
    runs: int
    compile_mode: str | None = None
    compiled_precisions: tuple[Precision, ...] = ()
    pause_s: float = 0.0


class NetworkBench:
    """A benchmark of one network on one device at one size; `state` has the published keys."""

    def __init__(
        self,
        state: dict[str, Tensor],
        device: torch.device,
        width: int,
        height: int,
        variants: Mapping[str, type[TransformerNetBaseline]] = ALL_VARIANTS,
    ) -> None:
        self._state, self._device, self._variants = state, device, variants
        self._shape = network_config(state)
        self._size = f"{width}x{height}"
        picture = torch.from_numpy(render(1.0, width, height))
        self._picture = picture.permute(2, 0, 1)[None].float().contiguous().to(device)

    def measure(self, wanted: BenchOptions, progress: Callable[..., None]) -> list[Row]:
        """Measure all candidates; return a row each in table order, even for ones that cannot run.

        Args:
            progress: Called with `description`, and during the timed runs with `completed` and
                `total`.
        """
        reference = self._reference()
        rows: dict[str, Row] = {}
        timed: dict[str, Timed] = {}
        for precision in wanted.precisions:
            for candidate in self._candidates(wanted, precision):
                progress(description=f"{self._size}: {candidate.title}, {precision.title}")
                row = rows[candidate.name] = self._row(candidate)
                facts, call = self._first_call(candidate, reference)
                row.update(facts)
                if call is not None:
                    timed[candidate.name] = call
        if timed:
            warmup = WARMUP[self._device.type]
            total = warmup + wanted.runs
            progress(description=f"{self._size}: all in turn", total=total)
            with torch.inference_mode():
                results = interleave(
                    timed,
                    warmup,
                    wanted.runs,
                    self._device,
                    lambda done: progress(completed=done, total=total),
                    wanted.pause_s,
                )
            for name, result in results.items():
                rows[name].update(dict(result))
            for precision in wanted.precisions:
                _add_gains(rows, precision)
        return list(rows.values())

    def _candidates(self, wanted: BenchOptions, precision: Precision) -> Iterator[Candidate]:
        device = self._device
        if precision.value.int8:  # PyTorch's own ways are measured in FP16
            if FUSED in wanted.kernels:
                network = self._network(FUSED, precision)
                yield eager_candidate(
                    FUSED, self._variants[FUSED].title, network, precision, device
                )
            return
        for key in wanted.kernels:
            network = self._network(key, precision)
            yield eager_candidate(key, self._variants[key].title, network, precision, device)
            if key == BASELINE and device.type == "cuda":
                yield graph_candidate(network, precision, device)
        if mode := wanted.compile_mode if precision in wanted.compiled_precisions else None:
            network = self._network(BASELINE, precision)
            yield compiled_candidate(COMPILED, "Compiled", network, mode, precision, device)
            network = with_rewrites(self._network(BASELINE)).to(precision.value.dtype)
            yield compiled_candidate(
                REWRITTEN, "Rewrites, compiled", network, mode, precision, device
            )

    def _row(self, candidate: Candidate) -> Row:
        precision, mode = candidate.precision, candidate.precision.value
        gpu = torch.cuda.get_device_name(self._device) if self._device.type == "cuda" else ""
        height, width = self._picture.shape[2:]
        floor = None
        if gpu in RATES and not mode.int8:  # INT8 has no measured rate
            element_bytes = activation_bytes(precision)
            floor = floor_ms(self._shape, width, height, element_bytes, RATES[gpu])
        return {
            "kernels": candidate.key,
            "title": candidate.title,
            "precision": precision.title,
            "tf32": mode.tf32 if gpu else None,
            "remark": precision.remark(self._device),
            "floor_ms": floor,
        }

    def _network(self, key: str, precision: Precision = Precision.fp32) -> TransformerNetBaseline:
        network = self._variants[key](**asdict(self._shape))
        network.load_state_dict(self._state)
        return network.to(self._device, precision.value.dtype).requires_grad_(False).eval()

    def _input(self, candidate: Candidate) -> Tensor:
        x = self._picture.to(candidate.precision.value.dtype)
        return x.contiguous(memory_format=candidate.memory_format)

    def _reference(self) -> Tensor:
        with torch.inference_mode():
            return in_float64(self._network(BASELINE))(self._picture.double()).clamp(0, 255)

    def _first_call(self, candidate: Candidate, reference: Tensor) -> tuple[Row, Timed | None]:
        """Run a candidate once.

        Return its row with error and memory, or with the reason why it cannot run, and the call to
        time.
        """
        precision = candidate.precision
        each = FAMILIES[FEED_FORWARD].memory_per_pixel(self._device, precision)
        needed = self._picture[0, 0].numel() * each
        if needed > free_bytes(self._device):
            return {
                "not_run": f"it needs {needed / 1e9:.0f} GB of memory, more than is available"
            }, None
        try:
            with torch.inference_mode():
                x = self._input(candidate)
                if candidate.is_compiled:
                    # Discard code compiled for another size or precision.
                    torch._dynamo.reset()
                    candidate.call(x)  # autotuning takes more memory than running
                elif (seconds := self._estimate_seconds(candidate, x)) > MAX_SECONDS:
                    return {"not_run": f"one picture would take about {seconds:.0f} s"}, None
                output, peak_mb = self._peak_mb(partial(candidate.call, x))
                if not bool(torch.isfinite(output).all()):
                    return {"not_run": "its result is not finite"}, None
                difference, psnr = peak_difference(output.double().clamp(0, 255), reference)
                timed = candidate.prepare(x)
        except (
            RuntimeError,
            NotImplementedError,
        ) as exc:  # PyTorch's exceptions for unsupported operations
            return {"not_run": str(exc).strip().partition("\n")[0]}, None
        return {
            "difference": difference,
            "psnr": psnr if math.isfinite(psnr) else None,
            "peak_mb": peak_mb,
        }, timed

    def _estimate_seconds(self, candidate: Candidate, x: Tensor) -> float:
        """Estimate the seconds for one picture from a corner of it."""
        corner = x[..., :PROBE_SIDE, :PROBE_SIDE].contiguous()
        candidate.call(corner)
        # The best of three, so that another program's load does not exclude a candidate.
        ms = min(stopwatch(partial(candidate.call, corner), self._device) for _ in range(3))
        return ms / 1e3 * x.numel() / corner.numel()

    def _peak_mb(self, call: Callable[[], Tensor]) -> tuple[Tensor, float | None]:
        """Return the result of `call`, and its peak memory on a GPU in MB."""
        if self._device.type != "cuda":
            return call(), None
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        output = call()
        return output, (torch.cuda.max_memory_allocated(self._device) - before) / 1e6


def supported_precisions(device: torch.device) -> dict[str, Precision]:
    """Return the precisions by name, without those that `device` computes as another one."""
    ampere = Precision.tf32.value.capability
    has_all = device.type == "cuda" and torch.cuda.get_device_capability(device) >= ampere
    absent = () if has_all else (Precision.tf32, Precision.int8)
    return {each.name: each for each in Precision if each not in absent}


def _add_gains(rows: dict[str, Row], precision: Precision) -> None:
    """Add speedups over the baseline, PyTorch's fastest measured way, and FP32 without TF32."""
    ours = {row["kernels"]: row for row in rows.values() if row["precision"] == precision.title}
    strongest = {}
    if "median_ms" in ours.get(REWRITTEN, {}):
        of_pytorch = [ours[k] for k in PYTORCH_ONLY if "median_ms" in ours.get(k, {})]
        strongest = min(of_pytorch, key=lambda row: row["median_ms"])
    for key, row in ours.items():
        if "median_ms" in row:
            row["kernels_gain"] = _ratio(ours.get(BASELINE, {}), row)
            row["pytorch_gain"] = _ratio(strongest, row)
            row["precision_gain"] = _ratio(rows.get(f"{key} {Precision.fp32.name}", {}), row)


def _ratio(reference: Row, row: Row) -> float | None:
    return reference["median_ms"] / row["median_ms"] if "median_ms" in reference else None
