"""Measures candidates against the library's layers, role by role, and chooses the fastest."""

from __future__ import annotations

import hashlib
import math
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from kernels.driver.driver import Driver
from kernels.jit.errors import BuildError
from kernels.jit.nvrtc import CompilationError
from kernels.network.abi import Sm80Network
from kernels.network.gpu import Gpu, standing_for
from kernels.network.launchers import Network
from kernels.network.shapes import WITH_KERNELS
from kernels.network.tuned import ENDS, ROLES, SIZES
from kernels.self_test.network import random_weights
from kernels.tuning.batch import Case, local_bytes, network_with
from kernels.tuning.candidates import CAPABILITIES_OF_FP16_SUMS, candidates, sums_in_fp16
from kernels.tuning.compiling import DoesNotFit, Made, Pool, Request, why_not
from kernels.tuning.layer_plan import BLOCKS, LayerPlan
from kernels.tuning.measuring import Times, difference, time_both

DTYPE, DTYPE_NAME = torch.float16, "fp16"  # for timing layers
BATCH = 32  # maximum number of candidates that are loaded together
GATHER_S = 1.0  # how long to wait for compiled candidates, to load some together
RUNS, MORE_RUNS = 7, 30
FINALISTS = 3  # per size, to be measured again
LEAST_GAIN = 0.02  # share of the time that a layer must save compared to the library's
ODD_SHAPE = 2, 37, 54  # pictures, height, width: none is a multiple of a tile
LEAST_SECONDS = 2.0  # for a role, however long the others took


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request for a sweep over cases, roles and SIZES.

    `seconds` limits its time, `most` the candidates of a role; 0 for no limit.
    """

    cases: tuple[Case, ...]
    roles: tuple[str, ...] = ROLES
    sizes: tuple[tuple[int, int], ...] = SIZES
    seconds: float = 0.0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate's times."""

    case: Case
    role: str
    traits: str
    times: Mapping[tuple[int, int], Times]  # by width and height

    def __str__(self) -> str:
        ratios = ", ".join(
            f"{width}x{height} {times.ms * 1e3:.1f} us ({times.ratio:.2f})"
            for (width, height), times in self.times.items()
        )
        return f"{self.case}, {self.role}: {self.traits}: {ratios}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A candidate that was not measured, and why."""

    case: Case
    role: str
    traits: str
    reason: str


@dataclass(frozen=True, slots=True)
class Winner:
    """A candidate that is faster than the library's layer at a size."""

    case: Case
    role: str
    size: tuple[int, int]
    traits: str
    times: Times


@dataclass(slots=True)
class Found:
    """The results of a sweep until it ended or was stopped.

    Attributes:
        measured: The measured candidates; twice if measured again.
        winners: The fastest of each role and size, if it is faster than the library's layer.
        done: The roles that were completed, or for which a faster layer was found.
        stopped: Why not all were measured, in words; empty if all were.
    """

    measured: list[Measured] = field(default_factory=list[Measured])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    winners: list[Winner] = field(default_factory=list[Winner])
    done: list[tuple[Case, str]] = field(default_factory=list[tuple[Case, str]])
    stopped: str = ""


class Sweep:
    """A sweep over candidates that tunes layers on the current GPU.

    `networks` is the library's description as JSON; `progress` gets a line about each candidate.
    """

    def __init__(
        self,
        pool: Pool,
        architecture: str,
        networks: Mapping[str, Any],
        progress: Callable[[str], object],
    ) -> None:
        self._pool, self._architecture, self._progress = pool, architecture, progress
        self._networks = networks
        self._device = torch.device("cuda", torch.cuda.current_device())
        self._gpu, self._driver = Gpu.of(self._device), Driver()
        self.found = Found()
        self._stopped = False

    def run(self, wanted: Wanted) -> Found:
        """Measure candidates until the end, Ctrl+C or the time limit, and return the results."""
        # Ctrl+C only sets a flag: an exception within a lock of the pool would leave it locked.
        before = signal.signal(signal.SIGINT, self._stop)
        try:
            return self._run(wanted)
        finally:
            signal.signal(signal.SIGINT, before)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopped = True

    def _run(self, wanted: Wanted) -> Found:
        began = time.monotonic()
        work = [(case, role) for case in wanted.cases for role in wanted.roles]
        futures: dict[tuple[Case, str], list[tuple[str, Future[Made]]]] = {}
        try:
            for case, role in work:
                futures[case, role] = self._submit(case, role, wanted.most)
            for number, (case, role) in enumerate(work):
                if self._stopped:
                    break
                left = wanted.seconds - (time.monotonic() - began)
                seconds = max(LEAST_SECONDS, left / (len(work) - number))
                ends = time.monotonic() + seconds if wanted.seconds else math.inf
                self._role(case, role, futures[case, role], wanted.sizes, ends)
        except RuntimeError as error:  # a CUDA error, after which this process can launch nothing
            self.found.stopped = str(error).partition("\n")[0]
        finally:
            for pending in futures.values():
                for _, future in pending:
                    future.cancel()
        return self.found

    def request(self, case: Case, role: str, traits: str, *, every_dtype: bool) -> Request:
        layers = self._networks[case.network]
        shipped = layers[role] if role in ENDS else layers["convs"][role]
        dtypes = tuple(shipped["kernels"]) if every_dtype else (DTYPE_NAME,)
        limit = case.shared_kb * 1024 or self._gpu.shared_bytes_of_multiprocessor
        return Request(traits, shipped, dtypes, limit)

    def _submit(self, case: Case, role: str, most: int) -> list[tuple[str, Future[Made]]]:
        cuda: Any = torch.cuda
        threads: int = cuda.get_device_properties(self._device).max_threads_per_multi_processor
        fp16_sums = self._gpu.capability in CAPABILITIES_OF_FP16_SUMS
        found = candidates(WITH_KERNELS[case.network], role, threads, fp16_sums=fp16_sums)
        # In an arbitrary order, so that a stopped sweep has seen candidates of every kind.
        found.sort(key=lambda traits: hashlib.sha256(traits.encode()).digest())
        return [
            (traits, self._pool.submit(self.request(case, role, traits, every_dtype=False)))
            for traits in found[: most or None]
        ]

    def _role(
        self,
        case: Case,
        role: str,
        futures: Sequence[tuple[str, Future[Made]]],
        sizes: Sequence[tuple[int, int]],
        ends: float,
    ) -> None:
        began = len(self.found.measured)
        waiting = {future: traits for traits, future in futures}
        while waiting and not self._over(ends):
            if sum(future.done() for future in waiting) < min(BATCH, len(waiting)):
                wait(waiting, max(0.0, min(GATHER_S, ends - time.monotonic())))
            batch = [future for future in waiting if future.done()][:BATCH]
            made = list(self._compiled(case, role, {one: waiting.pop(one) for one in batch}))
            self._measure(case, role, made, sizes, RUNS, ends)
        complete = not waiting and not self._over(ends)
        for future in waiting:
            future.cancel()
        first = self.found.measured[began:]
        best = {
            one.traits
            for size in sizes
            for one in sorted(first, key=lambda one: one.times[size].ratio)[:FINALISTS]
        }
        again = len(self.found.measured)
        made = [future.result() for traits, future in futures if traits in best]
        self._measure(case, role, made, sizes, MORE_RUNS, math.inf)
        found = winners(self.found.measured[again:], sizes)
        self.found.winners += found
        if complete or found:
            self.found.done.append((case, role))
        if self._stopped:
            self.found.stopped = "it was stopped by Ctrl+C"
        elif not complete:
            self.found.stopped = "the time ran out before every candidate was measured"

    def _over(self, ends: float) -> bool:
        return self._stopped or time.monotonic() >= ends

    def _compiled(self, case: Case, role: str, done: Mapping[Future[Made], str]) -> Iterator[Made]:
        for future, traits in done.items():
            try:
                made = future.result()
                spilled = local_bytes(made, self._driver, self._device.index)
            except (CompilationError, DoesNotFit, BuildError) as error:
                self._skip(case, role, traits, why_not(error))
                continue
            if spilled:
                self._skip(case, role, traits, f"spills {spilled} bytes of a thread's registers")
            else:
                yield made

    def _skip(self, case: Case, role: str, traits: str, reason: str) -> None:
        self.found.skipped.append(Skipped(case, role, traits, reason))
        self._progress(f"{case}, {role}: {traits}: skipped: {reason}")

    @torch.inference_mode()
    def _measure(
        self,
        case: Case,
        role: str,
        made: Sequence[Made],
        sizes: Sequence[tuple[int, int]],
        runs: int,
        ends: float,
    ) -> None:
        if not made:
            return
        whole = self._gpu.shared_bytes_of_multiprocessor
        with tempfile.TemporaryDirectory(prefix="styleforge.tune-") as folder:
            network = network_with(made, case, role, self._architecture, Path(folder), whole)
        shipped = network.abi.sm80.networks[case.network]
        shapes = [ODD_SHAPE, *((1, height, width) for width, height in sizes)]
        of_shipped = [self._plan(case, role, shipped, network, shape) for shape in shapes]
        for one, tuned in zip(made, network.abi.sm80.tuned, strict=True):
            if self._over(ends) and runs == RUNS:
                return
            times: dict[tuple[int, int], Times] = {}
            wrong = ""
            for shape, theirs in zip(shapes, of_shipped, strict=True):
                ours = self._plan(case, role, tuned.layers, network, shape)
                if wrong := difference(ours, theirs, fp16_sums=sums_in_fp16(one.traits)):
                    break
                if shape != ODD_SHAPE:
                    _, height, width = shape
                    times[width, height] = time_both(ours, theirs, runs)
            if wrong:
                self._skip(case, role, one.traits, wrong)
                continue
            self.found.measured.append(Measured(case, role, one.traits, times))
            self._progress(str(self.found.measured[-1]))

    def _plan(
        self,
        case: Case,
        role: str,
        layers: Sm80Network,
        network: Network,
        shape: tuple[int, int, int],
    ) -> LayerPlan:
        dimensions = WITH_KERNELS[case.network]
        gpu = limited_gpu(self._gpu, case.shared_kb)
        weights = _weights(case.network)
        with standing_for(gpu):
            return LayerPlan(
                role, layers, weights, dimensions, shape, DTYPE, self._device, network, case.small
            )


def limited_gpu(gpu: Gpu, shared_kb: int) -> Gpu:
    """Return the GPU with less shared memory that this one represents; the same without a limit."""
    if not shared_kb:
        return gpu
    return Gpu(gpu.capability, (shared_kb - 1) * 1024, shared_kb * 1024, gpu.multiprocessors)


def winners(measured: Sequence[Measured], sizes: Sequence[tuple[int, int]]) -> list[Winner]:
    """Return each size's fastest candidate, if it beats the library's layer beyond scatter."""
    found: list[Winner] = []
    for size in sizes:
        best = min(measured, key=lambda one: one.times[size].ratio, default=None)
        if best is None:
            continue
        times = best.times[size]
        if times.ratio < 1 - max(LEAST_GAIN, times.spread):
            found.append(Winner(best.case, best.role, size, best.traits, times))
    return found


def report(found: Found) -> dict[str, Any]:
    return {
        "stopped": found.stopped,
        "winners": [
            {**_head(one), "width": one.size[0], "height": one.size[1], **asdict(one.times)}
            for one in found.winners
        ],
        "measured": [
            {
                **_head(one),
                "times": [
                    {"width": width, "height": height, **asdict(times)}
                    for (width, height), times in one.times.items()
                ],
            }
            for one in found.measured
        ],
        "skipped": [{**_head(one), "reason": one.reason} for one in found.skipped],
    }


def _head(one: Measured | Skipped | Winner) -> dict[str, Any]:
    return {**asdict(one.case), "role": one.role, "traits": one.traits}


@cache
def _weights(network: str) -> Mapping[str, torch.Tensor]:
    shape = replace(WITH_KERNELS[network], num_residual_blocks=BLOCKS)
    return random_weights(shape, torch.Generator().manual_seed(0))
