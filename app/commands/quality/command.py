"""`styleforge quality`: measures styles on photographs that training has not seen."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from app.commands.argument_types import comma_separated, int_in_range
from app.commands.common_flags import add_device, add_kernels
from app.commands.quality.contact_sheet import save_sheet
from app.commands.quality.inputs import Photograph, QualityError, rank, scene_photograph
from app.commands.quality.inputs import load_photographs as load_photographs
from app.commands.quality.inputs import load_style as load_subject
from app.commands.quality.inputs import style_keys as keys_of
from app.commands.quality.measure import (
    REFERENCE,
    MeasurementPlan,
    ProgressCallback,
    QualityMeasurement,
    StyleImages,
    measurement_conditions,
)
from app.errors import MAX_MESSAGE_LENGTH, StyleForgeError
from app.provenance import report_header
from app.styles.library import BUILTIN, load_pack
from kernels.ops.registry import prepare
from models.checkpoints import CheckpointError, load_checkpoint
from models.evaluation.image_metrics import to_pixels, to_tensor
from models.evaluation.objective_metrics import styler
from models.network_config import CONFIGS
from models.precision import Precision
from models.training.errors import TrainingError
from models.training.features import INPUTS, load_vgg
from utils.devices import resolve
from utils.files.atomic import atomic_write
from utils.files.writable import write_error
from utils.images.opening import ImageError
from utils.images.writing import SAVED
from utils.tables import quality_markdown, where
from utils.text import printable

CONTACT_CELL, STYLE_CELL, MIX_CELL = (
    256,
    448,
    384,
)  # pixels: size of a picture on each kind of sheet
PHOTOGRAPHS, SCENE = 512, 192  # pixels: default of --size
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
DEFAULT_PRECISIONS = ("fp32", "fp16", "bf16")
MAX_SIZE = 4096  # pixels; the objective of a larger picture takes tens of gigabytes


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command `quality` and its flags."""
    parser = subparsers.add_parser(
        "quality",
        help="measure the quality of styles on photographs",
        description="Measures styles on photographs that were not used for training: the training "
        "objective compared with direct optimization (L-BFGS), flicker, clipped pixels, border "
        "artifacts, and the error of lower precisions. Without flags, it measures the built-in "
        "scene. Without a GPU, use few photographs, a small --size and --lbfgs-photos 0.",
    )
    need = parser.add_argument
    need(
        "--photos",
        type=Path,
        nargs="+",
        default=(),
        metavar="PATH",
        help="photographs, or folders of them (default: a picture of the built-in scene)",
    )
    need(
        "--only", type=Path, metavar="LIST", help="a text file with the names to use, one per line"
    )
    need("--json", type=Path, metavar="FILE", help="store the report here")
    need(
        "--add",
        action="store_true",
        help="keep the other styles of the report in --json, if there is one and it was measured "
        "under the same conditions; several runs may add to one report at the same time",
    )
    need(
        "--sheet",
        type=Path,
        metavar="FILE",
        help="store a contact sheet here, and one for each style beside it, named FILE-KEY",
    )
    need("--mix-sheet", type=Path, metavar="FILE", help="store a sheet of mixed styles here")
    need(
        "--pairs",
        type=_pairs,
        default=(),
        metavar="A:B,...",
        help="the styles to mix for --mix-sheet",
    )
    styles = parser.add_argument_group("the styles")
    styles.add_argument(
        "--packs",
        type=Path,
        default=BUILTIN,
        metavar="FOLDER",
        help="the folder of style packs (default: those that ship)",
    )
    styles.add_argument(
        "--styles",
        type=lambda text: tuple(part.strip() for part in text.split(",")),
        default=(),
        metavar="KEY,...",
        help="only these (default: all of the folder)",
    )
    styles.add_argument(
        "--styles-images",
        type=Path,
        metavar="FOLDER",
        help="the paintings, named like the styles: candy.jpg",
    )
    styles.add_argument(
        "--without",
        type=Path,
        metavar="FOLDER",
        help="the same styles trained without the stability term: packs, or KEY.safetensors",
    )
    styles.add_argument(
        "--networks",
        type=comma_separated(CONFIGS),
        default=tuple(CONFIGS),
        metavar="SIZE,...",
        help=f"only these of {', '.join(CONFIGS)}",
    )
    judging = parser.add_argument_group("loss network")
    judging.add_argument("--vgg", type=Path, metavar="FILE", help="VGG-19 weights")
    judging.add_argument(
        "--vgg-input",
        choices=list(INPUTS),
        help="input format that FILE was trained with (default: from its metadata)",
    )
    how = parser.add_argument_group("how to measure")
    how.add_argument(
        "--size",
        type=lambda text: int_in_range(text, 64, MAX_SIZE, "the size"),
        metavar="N",
        help="the long side photographs are resized to, up or down, in pixels (default: "
        f"{PHOTOGRAPHS}; {SCENE} for the scene)",
    )
    names = [precision.name for precision in Precision]
    how.add_argument(
        "--precisions",
        type=comma_separated(names),
        metavar="KEY,...",
        help=f"of {', '.join(names)} (default: {','.join(DEFAULT_PRECISIONS)}; "
        "fp32 for the scene); fp32 is always measured",
    )
    how.add_argument(
        "--lbfgs",
        type=_iterations,
        default=(50, 100, 300),
        metavar="N,...",
        help="iterations of direct optimization to report (default: 50,100,300)",
    )
    how.add_argument(
        "--lbfgs-photos",
        type=lambda text: int_in_range(text, 0, 1_000_000, "the number of photographs"),
        metavar="N",
        help="optimize only the first N photographs directly; 0 for none (default: all)",
    )
    how.add_argument(
        "--flicker-photos",
        type=lambda text: int_in_range(text, 0, 1_000_000, "the number of photographs"),
        default=4,
        metavar="N",
        help="measure flicker on the first N photographs; 0 for none (default: 4)",
    )
    add_device(how)
    add_kernels(how)


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
    photographs = (
        load_photographs(args.photos, args.only, args.size)
        if args.photos
        else [scene_photograph(args.size)]
    )
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    if args.json or args.sheet or not args.mix_sheet:
        _measure(args, device, photographs, console)
    if args.mix_sheet:
        with _progress("Mixing ...") as say:
            _mix(args, device, photographs, say)
        where_to = printable(str(args.mix_sheet), MAX_MESSAGE_LENGTH)
        console.print(f"Mixed styles in {where_to}", markup=False, soft_wrap=True)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Check the arguments before measuring, which takes minutes."""
    if args.only and not args.photos:
        raise QualityError("--only names some of the photographs in --photos")
    if args.json or args.sheet or args.vgg or args.styles_images:
        for flag, value in (("--vgg", args.vgg), ("--styles-images", args.styles_images)):
            if value is None:
                raise QualityError(f"the objective of training needs {flag}")
    if args.add and not args.json:
        raise QualityError("--add needs the report in --json")
    if bool(args.mix_sheet) != bool(args.pairs):
        raise QualityError("--mix-sheet and --pairs go together")
    for path in filter(None, (args.json, args.sheet, args.mix_sheet)):
        if not path.parent.is_dir():
            raise QualityError(f"the folder '{path.parent}' does not exist")
        if path.is_dir():
            raise QualityError(f"'{path}' is a folder, not a file to be written")
        if why := write_error(path.parent):
            raise QualityError(f"nothing can be written to '{path.parent}': {why}")
    for path in filter(None, (args.sheet, args.mix_sheet)):
        if path.suffix.lower() not in SAVED:
            raise QualityError(f"the sheet '{path.name}' should end in {', '.join(SAVED)}")


def _measure(
    args: argparse.Namespace,
    device: torch.device,
    photographs: Sequence[Photograph],
    console: Console,
) -> None:
    subjects = [
        load_subject(args.packs, key, args.networks, args.styles_images, args.without)
        for key in keys_of(args.packs, args.styles)
    ]
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
    )
    with _progress("Preparing the native kernels ..."):
        prepare()
    report = {
        **report_header(device, [subject.pack for subject in subjects]),
        "quality": {
            "size": args.size,
            "vgg": args.vgg.name if args.vgg else None,
            **measurement_conditions(plan, photographs),
        },
    }
    if args.add:
        _other_styles(args.json, report, [])  # fail before measuring if they cannot be kept
    console.print(where(report), soft_wrap=True)
    quality = QualityMeasurement(plan, photographs, features, device)
    measured, shown = [], []
    for subject in subjects:
        with _progress(subject.pack.title) as say:
            entry, pictures = quality.measure(subject, say)
        # With --add, the styles of a report can be from several commits.
        measured.append(entry | {"commit": report["commit"]})
        report["quality"]["styles"] = list(measured)
        shown.append(pictures)
        if args.json:  # after each style, so that an interrupted run keeps its results
            _store(args.json, report, add=args.add)
        if args.sheet:
            _style_sheet(args.sheet, photographs, pictures, plan)
    if args.sheet:
        _contact_sheet(args.sheet, photographs, shown, [s.pack.title for s in subjects])
    console.print(f"\n{quality_markdown(report['quality'])}\n", markup=False, soft_wrap=True)
    for remark in _remarks(report["quality"]["styles"]):
        console.print(remark, style="yellow", markup=False, soft_wrap=True)
    if missing := _not_measured(args, plan):
        console.print("Not measured:", soft_wrap=True)
        for line in missing:
            console.print(f"- {line}", markup=False, soft_wrap=True)
    for path in filter(None, (args.json, args.sheet)):
        console.print(
            f"Stored in {printable(str(path), MAX_MESSAGE_LENGTH)}", markup=False, soft_wrap=True
        )


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
        keys_of(args.packs, (one, other))
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
    """Save a sheet of every photograph in every style, made by the largest measured network."""
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


@contextmanager
def _progress(text: str) -> Iterator[ProgressCallback]:
    """Show what is being done on stderr while it lasts."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=None)
        yield lambda description: progress.update(task, description=printable(description))


def _direct_photographs(args: argparse.Namespace, count: int) -> int:
    """Number of photographs to optimize directly; none without the objective."""
    if args.vgg is None:
        return 0
    return count if args.lbfgs_photos is None else min(args.lbfgs_photos, count)


def _not_measured(args: argparse.Namespace, plan: MeasurementPlan) -> list[str]:
    """What the tables leave out, with the flags that add it."""
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
        "the same styles trained without the stability term: --without FOLDER": not args.without,
    }
    return [what for what, missing in left_out.items() if missing]


def _other_styles(path: Path, report: dict[str, Any], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return the styles, except `keys`, of the report in `path`; none if there is no such file.

    Raises:
        QualityError: that report was measured under other conditions, or is not a report.
    """
    if not path.exists():
        return []
    try:
        before = json.loads(path.read_text("utf-8"))
        styles = before["quality"].pop("styles")
        alike = {
            "machine": ("gpu", "tf32") if report["machine"]["gpu"] else ("cpu", "threads"),
            "versions": ("torch", "cuda", "cudnn"),
            "quality": tuple(name for name in report["quality"] if name != "styles"),
        }
        for part, names in alike.items():
            for name in names:
                if before[part].get(name) != report[part][name]:
                    raise QualityError(
                        f"nothing can be added to '{path.name}': it was measured with "
                        f"another {name}"
                    )
        return [style for style in styles if style["key"] not in keys]
    except OSError as exc:
        raise QualityError(f"the report '{path}' cannot be read: {exc.strerror}") from exc
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as exc:
        raise QualityError(f"'{path.name}' is not a report of quality") from exc


def _remarks(styles: Sequence[dict[str, Any]]) -> list[str]:
    """Return each remark once: what ran slower than possible, and why."""
    limitations = [
        f"{row['network']}, {row['precision']}: {remark}"
        for style in styles
        for row in style["networks"]
        for remark in row.get("remarks", [])
    ]
    return list(dict.fromkeys(limitations))


def _store(path: Path, report: dict[str, Any], *, add: bool) -> None:
    """Write `report` to `path`.

    With `add`, the other styles of the report there are kept; another run may write it meanwhile.
    """
    styles = report["quality"]["styles"]
    try:
        with _report_lock(path) if add else nullcontext():
            if add:
                styles += _other_styles(path, report, [style["key"] for style in styles])
            styles.sort(key=lambda style: rank(style["key"]))
            atomic_write(path, (json.dumps(report, indent=1, allow_nan=False) + "\n").encode())
    except OSError as exc:
        raise QualityError(f"the report could not be stored in '{path}': {exc.strerror}") from exc


def _report_lock(path: Path) -> FileLock:
    """The lock for rewriting `path`, in the temporary folder, since the lock file remains."""
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    return FileLock(Path(tempfile.gettempdir(), f"styleforge-{name}.lock"))


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for part in text.split(","):
        one, _, other = (name.strip() for name in part.partition(":"))
        if not (one and other):
            raise argparse.ArgumentTypeError(f"'{part}' is not a pair such as candy:mosaic")
        pairs.append((one, other))
    return tuple(pairs)


def _iterations(text: str) -> tuple[int, ...]:
    numbers = {int_in_range(part, 1, 100_000, "a number of iterations") for part in text.split(",")}
    return tuple(sorted(numbers))


if __name__ == "__main__":  # for machines with only the packages that measuring needs
    root = argparse.ArgumentParser(prog="python -m app.commands.quality.command")
    add_parser(root.add_subparsers(required=True))
    try:
        sys.exit(run(root.parse_args(["quality", *sys.argv[1:]])))
    except StyleForgeError as exc:
        sys.exit(f"styleforge: {exc}")
