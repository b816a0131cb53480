"""`styleforge quality --fluid`: measures streams that move their last painting."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import torch
from rich.console import Console

from app.commands.quality.parts import films_of, progress
from app.errors import MAX_MESSAGE_LENGTH
from app.provenance import report_header
from app.styles.pack import load_pack
from benchmarks.quality.inputs import QualityError, style_keys
from benchmarks.tables.pages import markdown
from kernels.table.registry import STYLE, prepare
from utils.files.atomic import atomic_write
from utils.text import printable


def check_fluid(args: argparse.Namespace) -> None:
    """Raise QualityError for flags that do not go together."""
    if args.fluid_sheet and not args.fluid:
        raise QualityError("--fluid-sheet needs --fluid")
    if args.fluid and (args.photos or args.sheet or args.add or args.texture_sheet):
        raise QualityError("--fluid measures only films: it takes no photographs, sheets or --add")


def measure_fluid_streams(args: argparse.Namespace, device: torch.device) -> None:
    """Measure the films and the scene in each style, print the table, and store the report.

    Raises:
        QualityError: If a film cannot be played, or the report cannot be written.
    """
    from benchmarks.quality.fluid import FluidPlan, measure_fluid  # OpenCV

    plan = FluidPlan(films_of(args), args.fluid_sheet)
    packs = [load_pack(args.packs / key) for key in style_keys(args.packs, args.styles)]
    report: dict[str, Any] = {
        **report_header(device, packs),
        "fluid": {**plan.conditions(), "styles": []},
    }
    with progress("Preparing the native kernels ...") as say:
        prepare(family=STYLE)
        for pack in packs:
            rows = measure_fluid(plan, args.packs, pack.key, say)
            report["fluid"]["styles"].append({"key": pack.key, "title": pack.title, "films": rows})
            if args.json:  # after each style, so that an interrupted run keeps its results
                text = json.dumps(report, indent=1, allow_nan=False) + "\n"
                try:
                    atomic_write(args.json, text.encode())
                except OSError as exc:
                    raise QualityError(f"cannot write '{args.json}': {exc.strerror}") from exc
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(f"\n{markdown(report)}", markup=False, soft_wrap=True)
    for path in filter(None, (args.json, args.fluid_sheet)):
        name = printable(str(path), MAX_MESSAGE_LENGTH)
        console.print(f"Stored in {name}", markup=False, soft_wrap=True)
