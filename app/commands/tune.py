"""`styleforge tune`: finds the fastest shapes of the general path's layers on this GPU."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from rich.console import Console

from app.commands.argument_types import comma_separated, int_in_range
from app.commands.common_flags import add_device
from app.commands.reporting import print_line
from app.errors import StyleForgeError
from app.exit_status import DONE
from app.provenance import report_header
from kernels.network import tuned
from kernels.network.shapes import WITH_KERNELS
from kernels.network.tuned import ROLES
from kernels.tuning.batch import Case
from kernels.tuning.sweep import Found, Wanted, report
from kernels.tuning.tuner import TuningError, cases_of, tune
from utils.devices import resolve
from utils.files.atomic import atomic_write
from utils.files.writable import write_error

MINUTES = 10


class TuneError(StyleForgeError):
    """Raised if the GPU cannot be tuned."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "tune",
        help="find the fastest kernels for this machine's NVIDIA card",
        description="Compiles the network's layers in many shapes, compares their results with "
        "the shipped layers, and times both in turn. Stores faster layers in your "
        "user folder; StyleForge uses them from the next start on. Ctrl+C ends "
        "tuning and keeps the layers found so far.",
    )
    add_device(parser)
    parser.add_argument(
        "--network",
        type=comma_separated(WITH_KERNELS),
        default=(),
        metavar="NAME,...",
        help=f"which of {', '.join(WITH_KERNELS)} (default: those that use the general kernels "
        "here)",
    )
    parser.add_argument(
        "--role",
        type=comma_separated(ROLES),
        default=ROLES,
        metavar="NAME,...",
        help=f"which layers of {', '.join(ROLES)} (default: all)",
    )
    parser.add_argument(
        "--minutes",
        type=lambda text: int_in_range(text, 0, 24 * 60, "the number of minutes"),
        default=MINUTES,
        help=f"minutes to measure in total; 0 for no limit (default: {MINUTES})",
    )
    parser.add_argument(
        "--most",
        type=lambda text: int_in_range(text, 1, 100_000, "the number of candidates"),
        default=0,
        metavar="N",
        help="measure at most N candidates per layer",
    )
    parser.add_argument(
        "--shared-kb",
        type=lambda text: int_in_range(text, 16, 1024, "shared memory in KB"),
        default=0,
        metavar="KB",
        help="measure as on a card with this much shared memory per multiprocessor; stores no "
        "layers",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write a report to this file")
    parser.add_argument(
        "--forget", action="store_true", help="delete the layers tuned on this card, and end"
    )


def run(args: argparse.Namespace) -> int:
    """Tune the GPU or delete earlier results; return 0, or 1 if the results are unusable.

    Raises:
        TuneError: If no GPU can be tuned, or a file cannot be written.
    """
    try:
        device = resolve(args.device)
    except ValueError as exc:
        raise TuneError(str(exc)) from exc
    if device.type != "cuda":
        raise TuneError("tuning needs an NVIDIA GPU, and PyTorch uses none here")
    if args.forget:
        return _forget(torch.cuda.get_device_name(device))
    for path in (args.output, tuned.tuned_folder() / "tuned"):
        if path and (why := write_error(path.absolute().parent)):
            raise TuneError(f"{path.absolute().parent} is not writable: {why}")
    try:
        with Console(stderr=True).status("Preparing the native kernels ..."):
            cases = cases_of(args.network, device, args.shared_kb)
        wanted = Wanted(tuple(cases), args.role, seconds=args.minutes * 60.0, most=args.most)
        found, said = tune(device, wanted, print_line)
    except TuningError as exc:
        raise TuneError(str(exc)) from exc
    _summarize(found)
    if args.output:
        entries = {**report_header(device), "tuning": report(found)}
        atomic_write(args.output, (json.dumps(entries, indent=1) + "\n").encode())
        print_line(f"stored in {args.output}")
    print_line(said)
    return 1 if said.startswith("not used") else 0


def _forget(card: str) -> int:
    there = tuned.forget(card)
    if there:
        print_line(f"removed the layers tuned on {card}")
    else:
        print_line(f"no layers tuned on {card} are stored")
    return DONE


def _summarize(found: Found) -> None:
    for one in found.winners:
        width, height = one.size
        print_line(
            f"{one.case}, {one.role} at {width}x{height}: {one.traits} takes "
            f"{one.times.ms * 1e3:.1f} us instead of {one.times.shipped_ms * 1e3:.1f}"
        )
    done: list[tuple[Case, str]] = found.done
    print_line(
        f"{len(found.measured)} measurements of {len(done)} layers, {len(found.skipped)} "
        f"candidates skipped, {len(found.winners)} faster than the shipped layers"
    )
    if found.stopped:
        print_line(f"tuning is incomplete: {found.stopped}")
