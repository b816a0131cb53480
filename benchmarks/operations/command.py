"""The command `bench`, which times the library's operations against PyTorch and torch.compile.

It measures every registered operation of the library: on the arguments of its row, or else on its
largest sample against its reference. It measures the optimizers' steps through the optimizers.
It stores the report after every operation, so that an interrupted run keeps its results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.operations.case import DTYPES
from benchmarks.operations.library_cases import cases, operations
from benchmarks.operations.measure import measured
from benchmarks.operations.optimizers import GROUP, OPTIMIZERS, measured_optimizers
from benchmarks.storing import store
from benchmarks.tables.library import library_table
from benchmarks.tables.origin import where
from kernels.table.registry import GENERAL, Operation, prepare, statuses
from utils.devices import resolve
from utils.provenance import commit_of, machine_info
from utils.tf32 import tf32_allowed

SIZES = {"cpu": "2048x2048", "cuda": "2048x2048,4096x4096,16384x4096"}
RUNS = {"cpu": 15, "cuda": 50}
PRODUCT_SIZES = 2  # the first of SIZES, on which matrix products are measured


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "bench", help="time the operations of kernel_fusion", description=__doc__
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--group", help="groups to measure, such as elementwise,fusion (default: all)"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:N (default: auto)")
    parser.add_argument("--sizes", help="rows x columns, such as 2048x2048,4096x4096")
    parser.add_argument("--precisions", default=",".join(DTYPES), help="default: %(default)s")
    parser.add_argument(
        "--runs",
        type=int,
        help="timed runs per implementation (default: 15; GPU: 50; fewer for slow calls)",
    )
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the report")


def run(given: argparse.Namespace) -> int:
    try:
        device = resolve(given.device)
        sizes = [_size(text) for text in (given.sizes or SIZES[device.type]).split(",")]
        precisions = {name.upper(): _dtype(name) for name in given.precisions.split(",")}
        chosen = operations(given.group, device.type)
    except ValueError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 2
    found = report(
        device,
        chosen,
        sizes,
        precisions,
        runs=given.runs or RUNS[device.type],
        compiles=not given.no_compile,
        of_products=None if given.sizes else sizes[:PRODUCT_SIZES],
        has_large=device.type == "cuda" and not given.sizes,
        told=_tell,
        stored=partial(_store, given.json),
    )
    sys.stdout.write(f"{where(found)}\n")
    return 0


def _store(file: Path | None, found: Mapping[str, Any]) -> None:
    if file is not None:
        store(file, found, indent=1)


def _dtype(name: str) -> torch.dtype:
    if name.upper() not in DTYPES:
        raise ValueError(f"there is no precision '{name}'; expected {', '.join(DTYPES)}")
    return DTYPES[name.upper()]


def _size(text: str) -> tuple[int, int]:
    rows, by, columns = text.partition("x")
    if not (by and rows.isdecimal() and columns.isdecimal() and int(rows) and int(columns)):
        raise ValueError(f"a size is '{text}'; expected rows x columns, such as 2048x2048")
    return int(rows), int(columns)


def _tell(row: Mapping[str, Any]) -> None:
    for line in library_table([row])[1:]:
        sys.stdout.write("  ".join(line) + "\n")
    sys.stdout.flush()


def report(
    device: torch.device,
    chosen: Sequence[Operation],
    sizes: Sequence[tuple[int, int]],
    precisions: Mapping[str, torch.dtype],
    *,
    runs: int,
    compiles: bool,
    of_products: Sequence[tuple[int, int]] | None = None,
    has_large: bool = False,
    told: Callable[[Mapping[str, Any]], None] = lambda _: None,
    stored: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure operations, and return their origin and a row per operation, size and precision.

    Times are in milliseconds, memory in MiB.

    Args:
        chosen: Rows from `operations`; if the optimizers' group is among them, the optimizers are
            measured as well.
        sizes: Rows and columns.
        precisions: Dtypes by their name in DTYPES.
        runs: Timed runs of each way; fewer if calls take long.
        of_products: Sizes for operations that matrix products dominate; defaults to `sizes`.
        has_large: Whether to measure the operations' own large arguments as well.
        stored: Called with the report after every operation; before the last one, `incomplete`
            says how many operations it has.
    """
    prepare([op.name for op in chosen])
    rows: list[dict[str, Any]] = []
    found: dict[str, Any] = {
        "taken": datetime.now(UTC).date().isoformat(),
        "machine": machine_info(device),
        "versions": {"torch": torch.__version__, "python": sys.version.split()[0]},
        "commit": commit_of(Path(__file__)),
        "runs_of_each": runs,
        "kernels": [asdict(each) for each in statuses(device, GENERAL)],
        "library": rows,
    }

    def of(op: Operation) -> Iterator[dict[str, Any]]:
        for case in cases(device, [op], sizes, precisions, of_products, has_large):
            yield measured(case, device, runs, compiles)

    parts = [of(op) for op in chosen]
    if any(op.group == GROUP for op in chosen):
        of_optimizer = partial(measured_optimizers, device, sizes, precisions, runs)
        parts += [of_optimizer([name]) for name in OPTIMIZERS]
    with tf32_allowed(False):
        for count, part in enumerate(parts, 1):
            for row in part:
                rows.append(row)
                told(row)
            missing = {"incomplete": f"{count} of {len(parts)} operations"}
            stored(found | (missing if count < len(parts) else {}))
    return found
