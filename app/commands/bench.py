"""`styleforge bench`: times the network's variants on this machine, and measures their errors."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from torch import Tensor

from app.commands import bench_cpu, bench_webgpu
from app.commands.argument_types import comma_separated, int_in_range
from app.commands.card_rates import remember
from app.commands.common_flags import add_device, add_style
from app.engine.painting_devices import painting_device
from app.errors import StyleForgeError
from app.exit_status import DONE
from app.measured_rates import Machine
from app.provenance import report_header
from app.styles.catalog import Catalog
from benchmarks.network.candidates import COMPILE_MODES
from benchmarks.network.frame_steps import measure_steps
from benchmarks.network.frames import measure_frames
from benchmarks.network.measure import BenchOptions, NetworkBench, supported_precisions
from benchmarks.operations import program as bench_operations
from benchmarks.storing import store
from benchmarks.tables.network import frames_table, notes, steps_table, table
from benchmarks.tables.origin import where
from kernels.table.registry import STYLE, prepare, statuses
from models.checkpoints import load_checkpoint
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.network_config import CONFIGS, NetworkConfig, network_config
from models.precision import Precision
from models.runtimes.table import RUNTIMES
from models.transformer_net import ALL_VARIANTS, VARIANTS
from models.webgpu_devices import host_of, is_webgpu
from utils.devices import resolve
from utils.files.writable import write_error
from utils.free_memory import free_bytes

RUNS = {"cpu": 7, "cuda": 50}
SIZES = (512, 512), (1280, 720)
PRECISIONS = tuple(precision.name for precision in Precision)
REFERENCE_BYTES_PER_PIXEL = 2000  # measured with the network in float64: 1,800
GAP = 2  # spaces between columns
ALL = "all"  # kernels: ours, and the installed runtimes


class BenchError(StyleForgeError):
    """Raised if the benchmark cannot run."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "bench",
        help="measure the network's variants on this machine",
        description="Times the network alone with every kernel choice at every precision, in "
        "interleaved runs. TF32 has its own rows, so FP32 rows do not use it. The "
        "error columns compare with the baseline in float64: the largest difference "
        "(0-255) and the PSNR. Speedups below 1 are shown too. The floor is a lower "
        "bound for the time on the GPU, where its peak rates are known.",
    )
    parser.add_argument(
        "--sizes",
        type=_sizes,
        metavar="WxH,...",
        help="sizes of the network's input (default: 512x512,1280x720)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the report here")
    add_style(parser)
    add_device(parser)
    parser.add_argument(
        "--kernels",
        type=comma_separated((*ALL_VARIANTS, ALL)),
        default=tuple(VARIANTS),
        metavar="KEY,...",
        help=f"which of {', '.join(ALL_VARIANTS)} (default: {', '.join(VARIANTS)}); {ALL} adds "
        "every other runtime installed here",
    )
    parser.add_argument(
        "--precision",
        type=comma_separated(PRECISIONS),
        metavar="KEY,...",
        help=f"which of {', '.join(PRECISIONS)} (default: all that the device offers)",
    )
    parser.add_argument(
        "--runs",
        type=lambda text: int_in_range(text, 1, 100_000, "the number of runs"),
        help=f"timed runs per kernel choice and precision (default: {RUNS['cpu']} on the CPU, "
        f"{RUNS['cuda']} on a GPU)",
    )
    parser.add_argument(
        "--compile",
        nargs="?",
        const="default",
        choices=COMPILE_MODES,
        metavar="MODE",
        help="also measure the baseline and its exact PyTorch rewrites under torch.compile "
        f"({', '.join(COMPILE_MODES)}), on a GPU within a CUDA graph; takes minutes",
    )
    parser.add_argument(
        "--compile-precision",
        type=comma_separated(PRECISIONS),
        metavar="KEY,...",
        help="compile only at these precisions (default: all measured ones)",
    )
    parser.add_argument(
        "--operations",
        action="store_true",
        help="measure single operations of style networks and transformers against PyTorch "
        "instead of the network; without a GPU, only transformer operations (operations for "
        "any model: python -m kernel_fusion bench)",
    )
    parser.add_argument(
        "--suite",
        choices=("cpu",),
        help="measure a set of candidates: cpu measures the full and the lite network in FP32 "
        "beside MNN, ncnn, OpenVINO, ONNX Runtime and torch.compile (styleforge[peers]), with each "
        "layer's time and floor, and peak memory; by default at "
        + ",".join(f"{width}x{height}" for width, height in bench_cpu.SIZES),
    )
    parser.add_argument(
        "--frames",
        action="store_true",
        help="measure whole frames, from host memory through the GPU and back",
    )


def run(args: argparse.Namespace) -> int:
    """Run the benchmark, print the tables and store the report; return the exit status."""
    if args.operations:
        return _run_operations(args)
    try:
        device = painting_device(args.device)
        style = Catalog.default().get(args.style)
        if style.family != FEED_FORWARD:
            raise BenchError(
                f"bench times networks of a single style, and {style.title} is "
                f"{FAMILIES[style.family].one_of}"
            )
        state = load_checkpoint(style.weights)
    except ValueError as exc:
        raise BenchError(str(exc)) from exc
    if args.json:
        _check_writable(args.json)
    if args.suite:
        return bench_cpu.run(
            args.sizes or bench_cpu.SIZES, args.runs, style, partial(_store, args.json)
        )
    args.sizes = args.sizes or SIZES
    if is_webgpu(device):
        _check_memory(args.sizes, host_of(device))
        store = partial(_store, args.json)
        bench_webgpu.run(args.sizes, args.runs, args.precision, style, device, store)
        return DONE
    wanted = _bench_options(args, device)
    _check_memory(args.sizes, device)
    # Lines in a file or a pipe are not wrapped.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    with Console(stderr=True).status("Preparing the native kernels ..."):
        prepare(family=STYLE)
    report = {
        "style": args.style,
        **report_header(device, [style]),
        "kernels": [asdict(status) for status in statuses(device, STYLE)],
    }
    if args.frames:
        return _run_frames(args, console, report, state, device)
    report |= {"runs": wanted.runs, "compile": args.compile, "sizes": []}
    console.print(where(report), soft_wrap=True)
    for status in statuses(device, STYLE):
        if not status.ready:
            says = f"{status.name} runs on {status.runs}: {status.reason}"
            console.print(says, style="" if status.by_choice else "yellow")
    for width, height in args.sizes:
        size = _measure(NetworkBench(state, device, width, height), wanted)
        report["sizes"].append({"width": width, "height": height, **size})
        if device.type == "cuda":
            _remember(device, network_config(state), (width, height), size["rows"])
        console.print()
        console.print(_table(f"{width}x{height}", size["rows"], console.width), crop=False)
        for note in notes(size["rows"]):
            console.print(f"Not run: {note}", soft_wrap=True)
        if args.json:  # after every size, so that an interrupted run keeps its results
            _store(args.json, report)
    if args.json:
        console.print(f"Stored in {args.json}", soft_wrap=True)
    return DONE


def _check_memory(sizes: Sequence[tuple[int, int]], device: torch.device) -> None:
    for width, height in sizes:
        needed = width * height * REFERENCE_BYTES_PER_PIXEL
        if needed > free_bytes(device):
            raise BenchError(
                f"{width}x{height} does not fit into memory: the float64 reference for the errors "
                f"needs {needed / 1e9:.0f} GB"
            )


def _bench_options(args: argparse.Namespace, device: torch.device) -> BenchOptions:
    known = supported_precisions(device)

    def chosen(names: tuple[str, ...]) -> tuple[Precision, ...]:
        if unknown := [name for name in names if name not in known]:
            raise BenchError(f"{device} does not support {', '.join(unknown)}")
        return tuple(known[name] for name in names)

    if args.compile_precision and not args.compile:
        raise BenchError("--compile-precision needs --compile")
    offered = tuple(name for name, each in known.items() if not each.refusal(device))
    measured = chosen(args.precision or offered)
    compiled = chosen(args.compile_precision) if args.compile_precision else measured
    if left_out := [a.name for a in compiled if a not in measured]:
        raise BenchError(
            f"--compile-precision has {', '.join(left_out)}, which --precision leaves out"
        )
    runs = args.runs or RUNS[device.type]
    kernels = args.kernels
    if ALL in kernels:
        there = (key for key, runtime in RUNTIMES.items() if not runtime.refusal())
        kernels = (*VARIANTS, *(there if device.type == "cpu" else ()))
    elif device.type != "cpu" and (others := [key for key in kernels if key in RUNTIMES]):
        raise BenchError(
            f"{', '.join(others)}: reads pictures from the CPU's memory; measure with --device cpu"
        )
    return BenchOptions(kernels, measured, runs, args.compile, compiled)


def _measure(bench: NetworkBench, wanted: BenchOptions) -> dict[str, Any]:
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        return {"rows": bench.measure(wanted, partial(progress.update, task))}


def _remember(
    device: torch.device,
    config: NetworkConfig,
    size: tuple[int, int],
    rows: list[dict[str, Any]],
) -> None:
    """Store the time of the network that the program runs, for `doctor`."""
    for name, row in itertools.product(CONFIGS, rows):
        is_ours = (row["kernels"], row["precision"]) == ("fused", Precision.fp16.title)
        if CONFIGS[name] == config and is_ours and "median_ms" in row:
            remember(Machine.of(device), name, {size: row["median_ms"]})


def _run_frames(
    args: argparse.Namespace,
    console: Console,
    report: dict[str, Any],
    state: dict[str, Tensor],
    device: torch.device,
) -> int:
    console.print(where(report), soft_wrap=True)
    try:
        report["frames"] = measure_frames(state, device, args.sizes)
        report["steps"] = measure_steps(device, args.sizes)
    except ValueError as exc:
        raise BenchError(str(exc)) from exc
    for line in (*frames_table(report["frames"]), *steps_table(report["steps"])):
        console.print(" | ".join(line), soft_wrap=True)
    if args.json:
        _store(args.json, report)
        console.print(f"Stored in {args.json}", soft_wrap=True)
    return DONE


def _run_operations(args: argparse.Namespace) -> int:
    try:
        device = resolve(args.device)
    except ValueError as exc:
        raise BenchError(str(exc)) from exc
    if device.type not in RUNS:
        raise BenchError(f"bench cannot measure operations on {device.type}")
    if args.json:
        _check_writable(args.json)
    console = Console(highlight=False)

    def told(row: dict[str, Any]) -> None:
        console.print(" | ".join(bench_operations.table_row(row)), soft_wrap=True)

    runs = args.runs or RUNS[device.type]
    console.print(" | ".join(bench_operations.HEADER), soft_wrap=True)
    found = bench_operations.report(device, runs, bool(args.compile), report_header(device), told)
    if args.json:
        _store(args.json, found)
        console.print(f"Stored in {args.json}", soft_wrap=True)
    return DONE


def _table(title: str, rows: list[dict[str, Any]], width: int) -> Table:
    """Build a table for a terminal of `width` characters; on a narrower one, lines wrap."""
    header, *lines = table(rows)
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    least = -GAP
    for name, *cells in zip(header, *lines, strict=True):
        # Headers may wrap between words; numbers never do.
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


def _check_writable(path: Path) -> None:
    """Check that the report can be stored before a measurement of minutes."""
    if not path.parent.is_dir():
        raise BenchError(f"the folder '{path.parent}' does not exist")
    if path.is_dir():
        raise BenchError(f"'{path}' is a folder; name a file for the report")
    if why := write_error(path.parent):
        raise BenchError(f"cannot write to '{path.parent}': {why}")


def _store(path: Path | None, report: dict[str, Any]) -> None:
    if path is None:
        return
    try:
        store(path, report)
    except OSError as exc:
        raise BenchError(f"cannot write the report to '{path}': {exc.strerror}") from exc


def _sizes(text: str) -> tuple[tuple[int, int], ...]:
    sizes = []
    for part in text.lower().split(","):
        width, _, height = part.strip().partition("x")
        if not (width.isdecimal() and height.isdecimal()):
            raise argparse.ArgumentTypeError(f"'{part}' is not a size such as 1280x720")
        sides = int(width), int(height)
        if not all(16 <= side <= 16384 for side in sides):
            raise argparse.ArgumentTypeError(f"'{part}': a side must be from 16 to 16384 pixels")
        sizes.append(sides)
    return tuple(sizes)
