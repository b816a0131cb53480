"""`styleforge tune`: finds the fastest shapes of the general path's layers on this GPU."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
from rich.console import Console

from app.commands.argument_types import comma_separated, int_in_range
from app.commands.common_flags import add_device
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
        description="Compiles the network's layers in many shapes, compares what they store with "
        "the layers that came with the program, and times both in turn. Layers that are faster "
        "are kept in your folder and used from the next start on. Ctrl+C ends it, and keeps what "
        "was found.",
    )
    add_device(parser)
    parser.add_argument(
        "--network",
        type=comma_separated(WITH_KERNELS),
        default=(),
        metavar="NAME,...",
        help=f"only these of {', '.join(WITH_KERNELS)} (default: those that run on the kernels of "
        "the general path here)",
    )
    parser.add_argument(
        "--role",
        type=comma_separated(ROLES),
        default=ROLES,
        metavar="NAME,...",
        help=f"only these layers of {', '.join(ROLES)}",
    )
    parser.add_argument(
        "--minutes",
        type=lambda text: int_in_range(text, 0, 24 * 60, "the number of minutes"),
        default=MINUTES,
        help=f"for measuring, in all; 0 for as long as it takes (default: {MINUTES})",
    )
    parser.add_argument(
        "--most",
        type=lambda text: int_in_range(text, 1, 100_000, "the number of candidates"),
        default=0,
        metavar="N",
        help="measure N candidates of each layer at most",
    )
    parser.add_argument(
        "--shared-kb",
        type=lambda text: int_in_range(text, 16, 1024, "shared memory in KB"),
        default=0,
        metavar="KB",
        help="measure as on a card whose multiprocessors have so little shared memory; nothing of "
        "it is kept",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="store a report here")
    parser.add_argument(
        "--forget", action="store_true", help="remove what was found on this card before"
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
        raise TuneError("kernels are tuned on an NVIDIA GPU, and none is used here")
    if args.forget:
        return _forget(torch.cuda.get_device_name(device))
    for path in (args.output, tuned.tuned_folder() / "tuned"):
        if path and (why := write_error(path.absolute().parent)):
            raise TuneError(f"{path.absolute().parent} is not writable: {why}")
    try:
        with Console(stderr=True).status("Preparing the native kernels ..."):
            cases = cases_of(args.network, device, args.shared_kb)
        wanted = Wanted(tuple(cases), args.role, seconds=args.minutes * 60.0, most=args.most)
        found, said = tune(device, wanted, _tell)
    except TuningError as exc:
        raise TuneError(str(exc)) from exc
    _summarize(found)
    if args.output:
        entries = {**report_header(device), "tuning": report(found)}
        atomic_write(args.output, (json.dumps(entries, indent=1) + "\n").encode())
        _tell(f"stored in {args.output}")
    _tell(said)
    return 1 if said.startswith("not used") else 0


def _forget(card: str) -> int:
    there = tuned.forget(card)
    _tell(f"what was tuned for {card} is {'removed' if there else 'not there: nothing is stored'}")
    return DONE


def _summarize(found: Found) -> None:
    for one in found.winners:
        width, height = one.size
        _tell(
            f"{one.case}, {one.role} at {width}x{height}: {one.traits} takes "
            f"{one.times.ms * 1e3:.1f} us instead of {one.times.shipped_ms * 1e3:.1f}"
        )
    done: list[tuple[Case, str]] = found.done
    _tell(
        f"{len(found.measured)} measurements of {len(done)} layers, {len(found.skipped)} "
        f"candidates skipped, {len(found.winners)} faster than the layers that came with the "
        "program"
    )
    if found.stopped:
        _tell(f"not everything was measured: {found.stopped}")


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
