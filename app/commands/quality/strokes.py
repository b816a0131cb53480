"""`styleforge quality --strokes`: sheets and flicker of strokes with a direction."""

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
from benchmarks.quality.inputs import (
    Photograph,
    QualityError,
    load_photographs,
    scene_photograph,
    style_keys,
)
from benchmarks.tables.pages import markdown
from kernels.table.registry import STYLE, TRANSFORMER, prepare
from utils.files.atomic import atomic_write
from utils.text import printable


def check_strokes(args: argparse.Namespace) -> None:
    """Raise QualityError for flags that do not go together."""
    for flag, value in (
        ("--strokes-sheet", args.strokes_sheet),
        ("--strokes-paintings", args.strokes_paintings),
    ):
        if value and not args.strokes:
            raise QualityError(f"{flag} needs --strokes")
    if args.strokes and (args.sheet or args.mix_sheet or args.add or args.texture_sheet):
        raise QualityError("--strokes has sheets of its own, and takes no --add")


def measure_directed_strokes(args: argparse.Namespace, device: torch.device) -> None:
    """Measure strokes in each style, print the table, and store the report and the sheets.

    Raises:
        QualityError: If a photograph or film cannot be used, or the report cannot be written.
        StyleError: If a style or a painting cannot be used.
    """
    # OpenCV, which the other measurements do not need.
    from app.styles.catalog import Catalog
    from benchmarks.quality.strokes import (
        DIRECTIONS,
        StrokesPlan,
        measure_strokes,
        paint_paintings,
        save_sheets,
        save_styles,
    )

    photographs: dict[int, list[Photograph]] = {
        size: load_photographs(args.photos, args.only, size)
        if args.photos
        else [scene_photograph(size)]
        for size in args.strokes_sizes
    }
    plan = StrokesPlan(
        sheet=args.strokes_sheet,
        photographs=photographs,
        directions=args.strokes_directions or DIRECTIONS,
        length=args.strokes_length,
        paintings=tuple(args.strokes_paintings),
        networks=args.networks,
        films=films_of(args),
        originals=args.originals,
        flicker_photographs=args.flicker_photos,
        cell=args.cell,
        quality=args.sheet_quality,
        texture=args.texture or None,
        kernels=args.kernels,
        device=args.device,
    )
    keys = [] if plan.paintings else style_keys(args.packs, args.styles)
    packs = [load_pack(args.packs / key) for key in keys]
    catalog = Catalog(args.packs, args.packs / "none")
    report: dict[str, Any] = {
        **report_header(device, packs),
        "strokes": {**plan.conditions(), "styles": [], "paintings": []},
    }
    with progress("Preparing the native kernels ...") as say:
        for operations in (STYLE, TRANSFORMER) if plan.paintings else (STYLE,):
            prepare(family=operations)
        report["strokes"]["paintings"] = paint_paintings(plan, say) if plan.paintings else []
        firsts: dict[str, dict[int, Any]] = {}
        for pack in packs:
            if plan.sheet is not None:
                firsts[pack.title] = save_sheets(plan, catalog, pack, say)
            entry = measure_strokes(plan, catalog, pack, say)
            report["strokes"]["styles"].append({"key": pack.key, "title": pack.title, **entry})
            _store(args, report)  # after each style, so that an interrupted run keeps its results
        _store(args, report)
        if firsts:
            save_styles(plan, firsts)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    for row in report["strokes"]["paintings"]:
        said = f"{row['painting']}: {row['direction']}, length {row['length']:g}"
        console.print(printable(said), markup=False, soft_wrap=True)
    if any(style[rows] for style in report["strokes"]["styles"] for rows in ("scenes", "films")):
        console.print(f"\n{markdown(report)}", markup=False, soft_wrap=True)
    for path in filter(None, (args.json, args.strokes_sheet)):
        name = printable(str(path), MAX_MESSAGE_LENGTH)
        console.print(f"Stored in {name}", markup=False, soft_wrap=True)


def _store(args: argparse.Namespace, report: dict[str, Any]) -> None:
    if not args.json:
        return
    text = json.dumps(report, indent=1, allow_nan=False) + "\n"
    try:
        atomic_write(args.json, text.encode())
    except OSError as exc:
        raise QualityError(f"cannot write '{args.json}': {exc.strerror}") from exc
