"""`styleforge quality`: measures styles on photographs that training has not seen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Console

from app.commands.quality.flags import DEFAULT_PRECISIONS, PHOTOGRAPHS, SCENE
from app.commands.quality.flags import add_parser as add_parser
from app.commands.quality.fluid import check_fluid, measure_fluid_streams
from app.commands.quality.parts import film_plan_of, progress
from app.commands.quality.strokes import check_strokes, measure_directed_strokes
from app.errors import MAX_MESSAGE_LENGTH, StyleForgeError, advice_for
from app.exit_status import DONE
from app.provenance import digest_of, report_header
from app.styles.pack import load_pack
from benchmarks.quality.contact_sheet import save_sheet
from benchmarks.quality.inputs import (
    Photograph,
    QualityError,
    load_any_style,
    load_photographs,
    load_style,
    scene_photograph,
    style_keys,
)
from benchmarks.quality.measure import (
    REFERENCE,
    MeasurementPlan,
    ProgressCallback,
    QualityMeasurement,
    StyleImages,
    measurement_conditions,
)
from benchmarks.quality.objective_metrics import styler
from benchmarks.quality.report_file import other_styles, store_report
from benchmarks.tables.origin import where
from benchmarks.tables.quality import quality_markdown
from kernels.table.registry import prepare
from models.checkpoints import CheckpointError, load_checkpoint
from models.evaluation.image_metrics import to_pixels, to_tensor
from models.families.keys import ANY_STYLE, FEED_FORWARD
from models.families.table import FAMILIES
from models.precision import Precision
from models.training.errors import TrainingError
from models.training.features import load_vgg
from utils.devices import resolve
from utils.files.writable import write_error
from utils.images.opening import ImageError
from utils.images.writing import SAVED
from utils.text import printable

if TYPE_CHECKING:
    from benchmarks.quality.textures import TexturePlan

CONTACT_CELL, STYLE_CELL, MIX_CELL = 256, 448, 384  # pixels: size of a picture on a sheet
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)


def run(args: argparse.Namespace) -> int:
    """Measure the styles, print the tables, and store reports and sheets."""
    try:
        return _run(args)
    except (TrainingError, ImageError, CheckpointError) as exc:
        raise QualityError(str(exc)) from exc


def _run(args: argparse.Namespace) -> int:
    _check(args)
    try:
        device = resolve(args.device)
    except ValueError as exc:
        raise QualityError(str(exc)) from exc
    args.size = args.size or (PHOTOGRAPHS if args.photos else SCENE)
    args.precisions = args.precisions or (
        DEFAULT_PRECISIONS if args.photos else DEFAULT_PRECISIONS[:1]
    )
    if args.fluid:
        measure_fluid_streams(args, device)
        return DONE
    if args.strokes:
        measure_directed_strokes(args, device)
        return DONE
    photographs: list[Photograph] = []
    if args.photos:
        photographs = load_photographs(args.photos, args.only, args.size)
    elif not args.films:
        photographs = [scene_photograph(args.size)]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    if args.json or args.sheet or args.texture_sheet or not args.mix_sheet:
        _measure(args, device, photographs, console)
    if args.mix_sheet:
        with progress("Mixing ...") as say:
            _mix(args, device, photographs, say)
        where_to = printable(str(args.mix_sheet), MAX_MESSAGE_LENGTH)
        console.print(f"Mixed styles in {where_to}", markup=False, soft_wrap=True)
    return DONE


def _check(args: argparse.Namespace) -> None:
    """Check the arguments before a measurement of minutes."""
    check_fluid(args)
    check_strokes(args)
    if args.only and not args.photos:
        raise QualityError("--only names some of the photographs in --photos")
    if args.any_style and args.styles_images is None:
        raise QualityError("--any-style needs the paintings: --styles-images")
    films_alone = bool(args.films) and not args.photos
    if films_alone and (args.sheet or args.any_style or args.mix_sheet or args.texture_sheet):
        raise QualityError("sheets and --any-style need photographs: --photos")
    no_objective = films_alone or args.texture_sheet or args.fluid or args.strokes
    if (args.json and not no_objective) or args.sheet or args.vgg or args.styles_images:
        for flag, value in (("--vgg", args.vgg), ("--styles-images", args.styles_images)):
            if value is None:
                raise QualityError(f"the training objective needs {flag}")
    if args.add and not args.json:
        raise QualityError("--add needs --json")
    if bool(args.mix_sheet) != bool(args.pairs):
        raise QualityError("--mix-sheet and --pairs need each other")
    sheets = args.sheet, args.mix_sheet, args.texture_sheet, args.fluid_sheet, args.strokes_sheet
    for path in filter(None, (args.json, *sheets)):
        if not path.parent.is_dir():
            raise QualityError(f"the folder '{path.parent}' does not exist")
        if path.is_dir():
            raise QualityError(f"'{path}' is a folder; name a file to write")
        if why := write_error(path.parent):
            raise QualityError(f"cannot write to '{path.parent}': {why}")
    for path in filter(None, sheets):
        if path.suffix.lower() not in SAVED:
            raise QualityError(f"the sheet '{path.name}' must end in {', '.join(SAVED)}")


def _measure(
    args: argparse.Namespace,
    device: torch.device,
    photographs: Sequence[Photograph],
    console: Console,
) -> None:
    subjects = [
        load_style(args.packs, key, args.networks, args.styles_images, args.without)
        for key in style_keys(args.packs, args.styles)
    ]
    any_style = load_any_style(args.any_style)
    features = load_vgg(args.vgg, args.vgg_input) if args.vgg else None
    precisions = tuple(p for p in Precision if p is REFERENCE or p.name in args.precisions)
    count = len(photographs)
    plan = MeasurementPlan(
        networks=args.networks,
        precisions=precisions,
        kernels=args.kernels,
        iterations=args.lbfgs,
        direct_photographs=_direct_photographs(args, count),
        flicker_photographs=min(args.flicker_photos, count),
        texture=args.texture,
    )
    film_plan, texture_plan = film_plan_of(args), _texture_plan(args, device)
    with progress("Preparing the native kernels ..."):
        for operations in FAMILIES[ANY_STYLE if args.any_style else FEED_FORWARD].operations:
            prepare(family=operations)
    given = {path.name: digest_of(path) for path in args.any_style}
    report = {
        **report_header(device, [subject.pack for subject in subjects]),
        "quality": {
            "size": args.size,
            "vgg": args.vgg.name if args.vgg else None,
            **({"any_style": given} if given else {}),
            **({"films": film_plan.conditions()} if film_plan else {}),
            **({"texture": texture_plan.conditions()} if texture_plan else {}),
            **measurement_conditions(plan, photographs),
        },
    }
    if args.add:
        other_styles(args.json, report, [])  # fail before measuring if they cannot be stored
    console.print(where(report), soft_wrap=True)
    quality = QualityMeasurement(plan, photographs, features, device, any_style)
    measured: list[dict[str, Any]] = []
    shown: list[StyleImages] = []
    for subject in subjects:
        with progress(subject.pack.title) as say:
            entry = {"key": subject.pack.key, "title": subject.pack.title, "networks": []}
            if photographs:
                entry, pictures = quality.measure(subject, say)
                shown.append(pictures)
                if args.sheet:
                    _style_sheet(args.sheet, photographs, pictures, plan)
            if texture_plan is not None:
                from benchmarks.quality.textures import measure_texture  # OpenCV

                entry["texture"] = measure_texture(texture_plan, subject, say)
            if film_plan is not None:
                from benchmarks.quality.films import measure_films  # OpenCV

                say(f"{subject.pack.title}: films")
                entry["films"] = measure_films(film_plan, args.packs, subject.pack.key)
        # With --add, the styles of a report can come from several commits.
        measured.append(entry | {"commit": report["commit"]})
        report["quality"]["styles"] = list(measured)
        if args.json:  # after each style, so that an interrupted run keeps its results
            store_report(args.json, report, add=args.add)
    if args.sheet:
        _contact_sheet(args.sheet, photographs, shown, [s.pack.title for s in subjects])
    console.print(f"\n{quality_markdown(report['quality'])}\n", markup=False, soft_wrap=True)
    for remark in _remarks(report["quality"]["styles"]):
        console.print(remark, style="yellow", markup=False, soft_wrap=True)
    if missing := _not_measured(args, plan):
        console.print("Not measured:", soft_wrap=True)
        for line in missing:
            console.print(f"- {line}", markup=False, soft_wrap=True)
    if args.texture_sheet:
        where_to = printable(str(args.texture_sheet.parent), MAX_MESSAGE_LENGTH)
        console.print(f"Sheets of texture in {where_to}", markup=False, soft_wrap=True)
    for path in filter(None, (args.json, args.sheet)):
        console.print(
            f"Stored in {printable(str(path), MAX_MESSAGE_LENGTH)}", markup=False, soft_wrap=True
        )


def _texture_plan(args: argparse.Namespace, device: torch.device) -> TexturePlan | None:
    """Return the plan for texture; None if texture is not requested."""
    if args.texture_sheet is None:
        return None
    from benchmarks.quality.textures import TexturePlan  # OpenCV

    photographs = {
        size: load_photographs(args.photos, args.only, size)
        if args.photos
        else [scene_photograph(size)]
        for size in args.texture_sizes
    }
    return TexturePlan(args.texture_sheet, photographs, args.kernels, device, args.flicker_photos)


def _mix(
    args: argparse.Namespace,
    device: torch.device,
    photographs: Sequence[Photograph],
    say: ProgressCallback,
) -> None:
    """Save the sheet of mixed styles: one row per pair, each with another photograph."""
    rows = []
    for n, (one, other) in enumerate(args.pairs):
        say(f"Mixing {one} and {other}")
        style_keys(args.packs, (one, other))
        packs = [load_pack(args.packs / key) for key in (one, other)]
        states = [load_checkpoint(pack.weights) for pack in packs]
        if any(states[0][name].shape != states[1][name].shape for name in states[0]):
            raise QualityError(f"'{one}' and '{other}' cannot be mixed: their shapes differ")
        picture = to_tensor(photographs[n % len(photographs)].pixels, device)
        pictures = []
        for weight in MIXES:
            mixed = {name: torch.lerp(w, states[1][name], weight) for name, w in states[0].items()}
            network, _ = styler(mixed, args.kernels, REFERENCE, device)
            pictures.append(to_pixels(network(picture)))
        rows.append((" to ".join(pack.title for pack in packs), pictures))
    save_sheet(args.mix_sheet, [f"{weight:g}" for weight in MIXES], rows, MIX_CELL)


def _contact_sheet(
    path: Path,
    photographs: Sequence[Photograph],
    shown: Sequence[StyleImages],
    titles: Sequence[str],
) -> None:
    rows = [
        (
            Path(photograph.name).stem,
            [
                photograph.pixels,
                *(next(iter(s.networks.values()))[n] for s in shown if s.networks),
            ],
        )
        for n, photograph in enumerate(photographs)
    ]
    columns = [t for t, s in zip(titles, shown, strict=True) if s.networks]
    save_sheet(path, ["Photograph", *columns], rows, CONTACT_CELL)


def _style_sheet(
    path: Path, photographs: Sequence[Photograph], shown: StyleImages, plan: MeasurementPlan
) -> None:
    """Save the sheet of one style: photograph, full, lite and direct optimization."""
    columns = ["Photograph", *(name.capitalize() for name in shown.networks)]
    if shown.direct:
        columns.append(f"L-BFGS {plan.sheet_iterations}")
    rows = []
    for n, photograph in enumerate(photographs):
        pictures = [photograph.pixels, *(results[n] for results in shown.networks.values())]
        rows.append((Path(photograph.name).stem, [*pictures, *shown.direct[n : n + 1]]))
    save_sheet(path.with_stem(f"{path.stem}-{shown.key}"), columns, rows, STYLE_CELL)


def _direct_photographs(args: argparse.Namespace, count: int) -> int:
    """Return the number of photographs to optimize directly; 0 without the objective."""
    if args.vgg is None:
        return 0
    return count if args.lbfgs_photos is None else min(args.lbfgs_photos, count)


def _not_measured(args: argparse.Namespace, plan: MeasurementPlan) -> list[str]:
    """Describe the gaps of the tables, with the flags that fill them."""
    if args.films and not args.photos:
        return ["everything but films: --photos FOLDER"]
    left_out = {
        "photographs, only the built-in scene: --photos FOLDER": not args.photos,
        "the training objective, and its direct optimization: --vgg FILE "
        "--styles-images FOLDER": args.vgg is None,
        "direct optimization: --lbfgs-photos N": args.vgg is not None
        and not plan.direct_photographs,
        f"the error of lower precisions: --precisions {','.join(DEFAULT_PRECISIONS)}": len(
            plan.precisions
        )
        == 1,
        "flicker: --flicker-photos N": not plan.flicker_photographs,
        "flicker with texture: --texture 0-1": not plan.texture,
        "texture of 0 to 100 %: --texture-sheet FILE": args.texture_sheet is None,
        "the same styles trained without the stability term: --without FOLDER": not args.without,
        "the flicker of films: --films FILE": not args.films,
    }
    return [what for what, missing in left_out.items() if missing]


def _remarks(styles: Sequence[dict[str, Any]]) -> list[str]:
    """Return each remark once: why something ran slower than possible."""
    limitations = [
        f"{row['network']}, {row['precision']}: {remark}"
        for style in styles
        for row in style["networks"]
        for remark in row.get("remarks", [])
    ]
    return list(dict.fromkeys(limitations))


if __name__ == "__main__":  # for machines with only the packages that measuring needs
    root = argparse.ArgumentParser(prog="python -m app.commands.quality.command")
    add_parser(root.add_subparsers(required=True))
    try:
        sys.exit(run(root.parse_args(["quality", *sys.argv[1:]])))
    except StyleForgeError as exc:
        sys.exit(f"styleforge: {exc}\n{advice_for(exc)}")
