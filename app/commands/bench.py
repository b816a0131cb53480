"""`styleforge bench`: times the network's variants on this machine, each with its error."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from torch import Tensor, nn

from app.blending import peak_difference
from app.commands import bench_operations
from app.commands.flags import add_device, add_style, several, whole
from app.commands.memory import bytes_per_pixel, free_bytes
from app.problems import StyleForgeError
from app.provenance import commit, machine, versions
from app.sources.scene import render
from app.styles import Library
from kernels.plan import NetworkPlan
from kernels.registry import prepare, statuses
from models.checkpoints import CheckpointError, load_checkpoint
from models.frame_stream import DEPTH, FrameStream, style_frame
from models.network_shape import num_residual_blocks
from models.precision import Precision
from models.transformer_net import VARIANTS, TransformerNetFused
from utils.benchmark import Benchmark, interleave, stopwatch
from utils.devices import resolve
from utils.files import write_whole
from utils.float64 import in_float64
from utils.tables import notes, streaming, table, where
from utils.writable import refusal

BASELINE = "baseline"
RUNS = {"cpu": 7, "cuda": 50}
WARMUP = {"cpu": 1, "cuda": 10}
PATIENCE_S = 20.0  # what would take longer for one picture is not run (FP16 on most CPUs)
PROBE = 64  # side of the corner that tells how long a picture will take
REFERENCE_BYTES_PER_PIXEL = 2000  # of the network in float64, measured: 1,800
GAP = 2  # spaces between two columns
COMPILED = "compiled baseline"
GRAPHED = "baseline graph"
STREAMED = 300  # frames, overlapped
COMPILE_MODES = ("default", "reduce-overhead", "max-autotune")


class BenchError(StyleForgeError):
    """The benchmark cannot be taken."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run the network. `key` is a key of VARIANTS, GRAPHED or COMPILED."""

    key: str
    title: str
    precision: Precision
    call: Callable[[Tensor], Tensor]  # [1, 3, H, W] float32, 0-255, in and out
    # What is timed, given the same; `call` where there is nothing shorter to time.
    ready: Callable[[Tensor], Callable[[], object]] | None = None

    @property
    def name(self) -> str:
        return f"{self.key} {self.precision.name}"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "bench",
        help="measure the network's variants on this machine",
        description="Times the network alone, every kernel choice at every precision, taking "
        "turns run by run. The error is the largest difference (0-255) and the PSNR against "
        "the baseline in float64. A gain below 1 is shown as it is.",
    )
    parser.add_argument(
        "--sizes",
        type=_sizes,
        default=((512, 512), (1280, 720)),
        metavar="WxH,...",
        help="sizes of the network's input (default: 512x512,1280x720)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the report here")
    add_style(parser)
    add_device(parser)
    parser.add_argument(
        "--kernels",
        type=several(VARIANTS),
        default=tuple(VARIANTS),
        metavar="KEY,...",
        help=f"only these of {', '.join(VARIANTS)}",
    )
    precisions = [precision.name for precision in Precision]
    parser.add_argument(
        "--precision",
        type=several(precisions),
        default=tuple(precisions),
        metavar="KEY,...",
        help=f"only these of {', '.join(precisions)}",
    )
    parser.add_argument(
        "--runs",
        type=lambda text: whole(text, 1, 100_000, "the number of runs"),
        help=f"timed runs of each (default: {RUNS['cpu']} on the CPU, {RUNS['cuda']} on a GPU)",
    )
    parser.add_argument(
        "--compile",
        nargs="?",
        const="default",
        choices=COMPILE_MODES,
        metavar="MODE",
        help=f"also the baseline through torch.compile ({', '.join(COMPILE_MODES)})",
    )
    parser.add_argument(
        "--operations",
        action="store_true",
        help="instead of the network, each fused operation on a GPU against PyTorch's own",
    )


def run(args: argparse.Namespace) -> int:
    if args.operations:
        return _run_operations(args)
    try:
        device = resolve(args.device)
        state = load_checkpoint(Library.default().get(args.style).weights)
    except (ValueError, CheckpointError) as exc:
        raise BenchError(str(exc)) from exc
    if args.json:
        _check_storable(args.json)
    for width, height in args.sizes:
        needed = width * height * REFERENCE_BYTES_PER_PIXEL
        if needed > free_bytes(device):
            raise BenchError(
                f"{width}x{height} does not fit into memory: the float64 picture that errors "
                f"are measured against takes {needed / 1e9:.0f} GB"
            )
    # Into a file or a pipe, lines are as long as they are.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    with Console(stderr=True).status("Preparing the native kernels ..."):
        prepare()
    runs = args.runs or RUNS[device.type]
    report = {
        "taken": datetime.now(UTC).date().isoformat(),
        "style": args.style,
        "runs": runs,
        "compile": args.compile,
        "machine": machine(device),
        "versions": versions(),
        "commit": commit(),
        "kernels": [asdict(status) for status in statuses(device)],
        "sizes": [],
    }
    console.print(where(report), soft_wrap=True)
    for status in statuses(device):
        if not status.ready:
            console.print(f"{status.name}: {status.reason}", style="yellow")
    for width, height in args.sizes:
        bench = Bench(state, device, width, height)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(f"{width}x{height}", total=None)
            rows = bench.measure(
                args.kernels,
                [Precision[name] for name in args.precision],
                args.compile,
                runs,
                partial(progress.update, task),
            )
        size: dict[str, Any] = {"width": width, "height": height, "rows": rows}
        if "fused" in args.kernels and (stream := bench.stream()):
            size["stream"] = stream
        report["sizes"].append(size)
        console.print()
        console.print(_table(f"{width}x{height}", rows, console.width), crop=False)
        if "stream" in size:
            console.print(streaming(size["stream"]), soft_wrap=True)
        for note in notes(rows):
            console.print(f"Not run: {note}", soft_wrap=True)
    if args.json:
        _store(args.json, report)
        console.print(f"Stored in {args.json}", soft_wrap=True)
    return 0


def _run_operations(args: argparse.Namespace) -> int:
    try:
        device = resolve(args.device)
    except ValueError as exc:
        raise BenchError(str(exc)) from exc
    if device.type != "cuda":
        raise BenchError("the operations are measured on a GPU, and there is none here")
    if args.json:
        _check_storable(args.json)
    console = Console(highlight=False)
    found = bench_operations.report(device, args.runs or RUNS["cuda"], bool(args.compile))
    for line in bench_operations.lines(found):
        console.print(" | ".join(line), soft_wrap=True)
    if args.json:
        _store(args.json, found)
        console.print(f"Stored in {args.json}", soft_wrap=True)
    return 0


class Bench:
    """Measures one style's network on one device at one size."""

    def __init__(
        self, state: dict[str, Tensor], device: torch.device, width: int, height: int
    ) -> None:
        self._state, self._device = state, device
        picture = torch.from_numpy(render(1.0, width, height))
        self._picture = picture.permute(2, 0, 1)[None].float().contiguous().to(device)

    def measure(
        self,
        kernels: tuple[str, ...],
        precisions: list[Precision],
        compile_mode: str | None,
        runs: int,
        progress: Callable[..., None],
    ) -> list[dict[str, Any]]:
        """One row per candidate, in the order of the tables; what cannot run has a row too."""
        reference = self._reference()
        rows: dict[str, dict[str, Any]] = {}
        able: dict[str, Candidate] = {}
        for precision in precisions:
            for candidate in self._candidates(kernels, precision, compile_mode):
                row = {
                    "kernels": candidate.key,
                    "title": candidate.title,
                    "precision": precision.title,
                    "remark": precision.remark(self._device),
                }
                rows[candidate.name] = row
                row.update(self._first_call(candidate, reference))
                if "not_run" not in row:
                    able[candidate.name] = candidate
        if able:
            warmup = WARMUP[self._device.type]
            with torch.inference_mode():
                results = interleave(
                    {name: self._timed(c) for name, c in able.items()},
                    warmup,
                    runs,
                    self._device,
                    lambda done: progress(completed=done, total=warmup + runs),
                )
            for name, result in results.items():
                rows[name].update(dict(result))
            for name, candidate in able.items():
                same_precision = rows.get(f"{BASELINE} {candidate.precision.name}", {})
                same_kernels = rows.get(f"{candidate.key} {Precision.fp32.name}", {})
                rows[name]["kernels_gain"] = _ratio(same_precision, rows[name])
                rows[name]["precision_gain"] = _ratio(same_kernels, rows[name])
        return list(rows.values())

    def _candidates(
        self, kernels: tuple[str, ...], precision: Precision, compile_mode: str | None
    ) -> list[Candidate]:
        chosen = [
            self._candidate(key, VARIANTS[key].title, precision, self._network(key, precision))
            for key in kernels
        ]
        if self._device.type == "cuda" and BASELINE in kernels:
            baseline = self._candidate(
                GRAPHED, "Baseline, graph", precision, self._network(BASELINE, precision)
            )
            chosen.insert(1, replace(baseline, ready=partial(_graphed, baseline.call)))
        if compile_mode:
            network = self._network(BASELINE, precision)
            compiled = torch.compile(network, mode=compile_mode, dynamic=False)
            chosen.append(self._candidate(COMPILED, "Compiled", precision, compiled))
        return chosen

    def _candidate(
        self, key: str, title: str, precision: Precision, network: Callable[[Tensor], Tensor]
    ) -> Candidate:
        mode = precision.value
        half = torch.float16 if self._device.type == "cuda" else torch.bfloat16

        def call(x: Tensor) -> Tensor:
            with torch.autocast(self._device.type, half, enabled=mode.autocast):
                return network(x)

        def ready(x: Tensor) -> Callable[[], object]:
            """The native network takes a frame as it is: bytes on the device, in and out."""
            with torch.autocast(self._device.type, half, enabled=mode.autocast):
                plan = _plan(network, x)
            if plan is None:
                return partial(call, x)
            plan.frames.copy_(x.permute(0, 2, 3, 1))
            return plan.replay

        return Candidate(key, title, precision, call, ready)

    def _timed(self, candidate: Candidate) -> Callable[[], object]:
        x = self._input(candidate)
        return candidate.ready(x) if candidate.ready else partial(candidate.call, x)

    def stream(self) -> dict[str, Any] | None:
        """Frame to frame, from pinned host memory and back, in FP16; None without a GPU."""
        with torch.inference_mode():
            x = self._picture.half()
            plan = _plan(self._network("fused", Precision.fp16), x)
            if plan is None:
                return None
            frame = x[0].permute(1, 2, 0).to(torch.uint8).cpu().numpy()
            alone = [_milliseconds(partial(style_frame, plan, frame)) for _ in range(60)][10:]
            stream = FrameStream(plan)
            for _ in range(DEPTH):
                np.copyto(stream.slot(), frame)
                stream.send()
            start = time.perf_counter()
            for _ in range(STREAMED):
                stream.receive()
                stream.send()
            seconds = time.perf_counter() - start
            for _ in range(DEPTH):
                stream.receive()
        return {
            "precision": Precision.fp16.title,
            "fps": STREAMED / seconds,
            "latency": dict(Benchmark.of(alone)),
        }

    def _input(self, candidate: Candidate) -> Tensor:
        return self._picture.to(candidate.precision.value.dtype)

    def _foresee(self, candidate: Candidate) -> float:
        """Seconds one picture will take, from a corner of it; 0 for what must be compiled anew
        for every size."""
        if candidate.key == COMPILED:
            return 0.0
        x = self._input(candidate)
        corner = x[..., :PROBE, :PROBE].contiguous()
        candidate.call(corner)
        # The best of three: another program that takes its turn must not rule a candidate out.
        ms = min(stopwatch(partial(candidate.call, corner), self._device) for _ in range(3))
        return ms / 1e3 * x.numel() / corner.numel()

    def _network(self, key: str, precision: Precision = Precision.fp32) -> nn.Module:
        network = VARIANTS[key](num_residual_blocks=num_residual_blocks(self._state))
        network.load_state_dict(self._state)
        return network.to(self._device, precision.value.dtype).requires_grad_(False).eval()

    def _reference(self) -> Tensor:
        with torch.inference_mode():
            return in_float64(self._network(BASELINE))(self._picture.double()).clamp(0, 255)

    def _first_call(self, candidate: Candidate, reference: Tensor) -> dict[str, Any]:
        """What the first call tells: whether it can run at all, its error and its memory."""
        cuda = self._device.type == "cuda"
        before = 0
        if cuda:
            torch.cuda.reset_peak_memory_stats(self._device)
            before = torch.cuda.memory_allocated(self._device)
        needed = self._picture[0, 0].numel() * bytes_per_pixel(self._device, candidate.precision)
        if needed > free_bytes(self._device):
            return {"not_run": f"it needs {needed / 1e9:.0f} GB of memory, more than is free"}
        try:
            with torch.inference_mode():
                seconds = self._foresee(candidate)
                if seconds > PATIENCE_S:
                    return {"not_run": f"one picture would take about {seconds:.0f} s"}
                output = candidate.call(self._input(candidate))
        except (RuntimeError, NotImplementedError) as exc:  # PyTorch's way of saying "cannot"
            return {"not_run": str(exc).strip().partition("\n")[0]}
        # Before the error is measured, which takes memory of its own.
        peak = torch.cuda.max_memory_allocated(self._device) - before if cuda else None
        if not bool(torch.isfinite(output).all()):
            return {"not_run": "its picture is not finite"}
        difference, psnr = peak_difference(output.double().clamp(0, 255), reference)
        return {
            "difference": difference,
            "psnr": psnr if math.isfinite(psnr) else None,
            "peak_mb": None if peak is None else peak / 1e6,
        }


def _plan(network: Callable[[Tensor], Tensor], x: Tensor) -> NetworkPlan | None:
    if not isinstance(network, TransformerNetFused):
        return None
    return network.plan((x.shape[0], x.shape[2], x.shape[3]), x.device)


def _graphed(call: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], object]:
    """The same as one CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):  # what is chosen or allocated once cannot be while capturing
            call(x)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(x)
    return graph.replay


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def _ratio(reference: dict[str, Any], row: dict[str, Any]) -> float | None:
    return reference["median_ms"] / row["median_ms"] if "median_ms" in reference else None


def _table(title: str, rows: list[dict[str, Any]], width: int) -> Table:
    """For a screen of `width` characters; on one that is too narrow, lines run on in the next."""
    header, *lines = table(rows)
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    least = -GAP
    for name, *cells in zip(header, *lines, strict=True):
        # Headers may wrap between words; figures are never cut.
        needed = max(map(len, [*name.split(), *cells]))
        least += needed + GAP
        shown.add_column(
            name,
            justify="left" if name in ("kernels", "precision") else "right",
            min_width=needed,
            no_wrap=" " not in name,
        )
    for line in lines:
        shown.add_row(*line)
    if least > width:
        shown.width = least
    return shown


def _check_storable(path: Path) -> None:
    """Measuring takes minutes; that its report has nowhere to go is told before."""
    if not path.parent.is_dir():
        raise BenchError(f"the folder '{path.parent}' does not exist")
    if path.is_dir():
        raise BenchError(f"'{path}' is a folder; the report needs the name of a file")
    if why := refusal(path.parent):
        raise BenchError(f"nothing can be written to '{path.parent}': {why}")


def _store(path: Path, report: dict[str, Any]) -> None:
    try:
        write_whole(path, (json.dumps(report, indent=2) + "\n").encode())
    except OSError as exc:
        raise BenchError(f"the report could not be stored in '{path}': {exc.strerror}") from exc


def _sizes(text: str) -> tuple[tuple[int, int], ...]:
    sizes = []
    for part in text.lower().split(","):
        width, _, height = part.strip().partition("x")
        if not (width.isdecimal() and height.isdecimal()):
            raise argparse.ArgumentTypeError(f"'{part}' is not a size such as 1280x720")
        sides = int(width), int(height)
        if not all(16 <= side <= 16384 for side in sides):
            raise argparse.ArgumentTypeError(f"'{part}': a side is of 16 to 16384 pixels")
        sizes.append(sides)
    return tuple(sizes)
