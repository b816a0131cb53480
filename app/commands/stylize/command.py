"""`styleforge stylize`: stylizes picture files, folders and films."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.commands.argument_types import int_in_range
from app.commands.common_flags import (
    DEFAULTS,
    add_device,
    add_kernels,
    add_precision,
    add_style,
)
from app.commands.style_flags import add_style_options
from app.commands.stylize.film_flags import add_film_flags
from app.commands.stylize.films import films_among, stylize_films
from app.commands.stylize.groups import groups
from app.commands.stylize.jobs import Job, StylizeError, plan_jobs, shown
from app.commands.stylize.limits import BATCH, MAX_SIZE, MOST, Limits
from app.commands.stylize.pipeline import Outcome, Pipeline
from app.commands.stylize.style_images import (
    add_style_images,
    check_style_images,
    include_style_images,
    mix_of,
)
from app.commands.stylize.styling import Styling
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.resolution import SHORTEST
from app.options import Part
from app.parameters import given_values
from app.styles.library import Library
from kernels.ops.registry import prepare
from models.precision import Precision
from utils.free_memory import free_bytes
from utils.text import printable

MOST_BATCH = 64
FULL = "full"  # in place of a number of pixels: all of them


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command `stylize` and its flags."""
    parser = subparsers.add_parser(
        "stylize",
        help="stylize pictures, folders of pictures and films",
        description="Stylize pictures. Folders are searched recursively, and OUT receives the same "
        "names in the same subfolders; formats that cannot be written become PNG. Results are "
        "written completely or not at all, so an interrupted run can be continued by the same "
        "command with --skip-existing. They keep the color profile and the EXIF data; PNG and TIFF "
        "keep 16 bits per channel, and these and WebP transparency.",
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="a picture, folder or pattern; or films"
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="OUT",
        help="a folder, or for a single picture or film a file",
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--overwrite", action="store_true", help="replace results that exist")
    existing.add_argument(
        "--skip-existing",
        action="store_true",
        help="skip pictures whose result exists, to continue an interrupted run "
        "(default: do nothing if any result exists)",
    )
    chosen = parser.add_mutually_exclusive_group()
    add_style(chosen, default=None)
    add_style_images(parser, chosen)
    add_kernels(parser)
    add_precision(parser)
    add_device(parser)
    parser.add_argument(
        "--size",
        type=_size,
        metavar="PIXELS",
        help="long side of the network's input, or full for the picture's own: the larger it is, "
        "the finer the strokes; the result always has the picture's size and detail (default: the "
        f"picture's own, at most {MAX_SIZE})",
    )
    parser.add_argument(
        "--depth",
        type=int,
        choices=(8, 16),
        help="bits per channel of the results; 16 of PNG and TIFF only (default: those of the "
        "picture)",
    )
    parser.add_argument(
        "--batch",
        type=_batch,
        metavar="N",
        help="pictures of one size, one after the other in their order, that go through the "
        "network together, as many as fit into memory; results differ by rounding (default: on a "
        f"GPU up to {BATCH}, fewer of large pictures, and 1 on the CPU)",
    )
    add_style_options(parser)
    add_film_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Stylize all inputs; returns 1 if any of them failed, 0 otherwise."""
    check_style_images(args.style_image, args.style_network, args.mix)
    with tempfile.TemporaryDirectory(prefix="styleforge-") as folder:
        library = Library.default()
        if args.style_image:
            chosen = include_style_images(
                library, args.style_image, args.style_network, Path(folder), args.mix
            )
        else:
            chosen = mix_of(args.style or DEFAULTS.style, args.mix)
        return _run(args, library, chosen)


def _run(args: argparse.Namespace, library: Library, chosen: tuple[Part, ...]) -> int:
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True, emoji=False)
    notices: list[str] = []
    engine = Engine(library, on_notice=notices.append, free=free_bytes)
    full = args.size == FULL
    config = EngineConfig(
        **given_values(args),
        kernels=args.kernels,
        precision=Precision[args.precision],
        device=args.device,
        size=None if full else args.size,
    ).mixed(chosen)
    engine.configure(config)  # reports an invalid style or device first
    if films := films_among(args.inputs):
        return stylize_films(films, args, library, engine, notices)
    jobs, problems = plan_jobs(args.inputs, args.output)
    for problem in problems:
        console.print(f"styleforge: {problem}")
    if not jobs:
        return 1
    if not args.overwrite:
        existing = [job for job in jobs if os.path.lexists(job.target)]
        if existing and not args.skip_existing:
            raise StylizeError(_exists_message(existing))
        jobs = [job for job in jobs if not os.path.lexists(job.target)]
        if existing:
            console.print(f"Skipped {_pictures(len(existing))} whose result exists")
        if not jobs:
            return 1 if problems else 0
    if config.kernels != "baseline":
        with console.status("Preparing the native kernels ..."):
            for operations in engine.family.operations:
                prepare(family=operations)
    limits = Limits.now(config, args.batch, engine, full=full)
    styling = Styling(engine, limits, notices)
    pipeline = Pipeline(styling, limits.picture_bytes, config.size, depth=args.depth)
    try:
        with pipeline, _progress(console) as progress:
            engine.on_progress = _bands(progress)
            tally = _stylize(pipeline.run(groups(jobs, limits)), progress, len(jobs))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped after {pipeline.written} of {len(jobs)} pictures; those are complete."
        ) from None
    if tally.batches:
        console.print(tally.summary(args.output))
    return 1 if problems or tally.failed else 0


@dataclass
class Tally:
    """What is to be said at the end.

    Attributes:
        batches: How many pictures were stylized in batches of each size.
        failed: How many failed.
        running: What ran for the last one.
    """

    batches: Counter[int] = field(default_factory=Counter)
    failed: int = 0
    running: str = ""

    def summary(self, output: Path) -> str:
        """The closing line: how many results are where, and what ran."""
        together = "".join(
            f", {count} of them in {'a batch' if count == size else 'batches'} of {size}"
            for size, count in sorted(self.batches.items(), reverse=True)
            if size > 1
        )
        return f"{_pictures(self.batches.total())} in {shown(output)}{together} ({self.running})"


def _progress(console: Console) -> Progress:
    return Progress(
        # File names may contain markup such as [b].
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _bands(progress: Progress) -> Callable[[float], object]:
    """Make the bar of a picture that is computed in bands of rows, which is hidden otherwise."""
    task = progress.add_task("In bands", total=100, visible=False)
    return lambda share: progress.update(task, completed=100 * share, visible=share < 1)


def _stylize(outcomes: Iterable[Outcome], progress: Progress, count: int) -> Tally:
    """Say of each of `count` pictures what became of it."""
    tally = Tally()
    task = progress.add_task("Stylizing", total=count)
    for outcome in outcomes:
        name = printable(outcome.job.source.name)
        if outcome.error is not None:
            tally.failed += 1
            text = f"styleforge: {_error_text(outcome.job.source, outcome.error)}"
            progress.console.print(text)
        if outcome.styled is not None:
            tally.batches[outcome.styled.batch] += 1
            tally.running = str(outcome.styled.running)
        for said in filter(None, (outcome.remark, *outcome.notices)):
            progress.console.print(said)
        progress.update(task, description=name, advance=1)
    return tally


def _error_text(path: Path, exc: Exception) -> str:
    """Describe the error with the whole path, since several folders may contain the same name."""
    if isinstance(exc, OSError):
        return f"'{shown(exc.filename or path)}': {exc.strerror or exc}"
    fault, name = str(exc), printable(path.name)
    if f"'{name}'" in fault:
        return fault.replace(f"'{name}'", f"'{shown(path)}'", 1)
    return fault if shown(path) in fault else f"'{shown(path)}': {fault}"


def _exists_message(existing: list[Job]) -> str:
    """The error message if results exist, with the first of them."""
    more = f", and so do {len(existing) - 1} more results" if len(existing) > 1 else ""
    return (
        f"'{shown(existing[0].target)}' exists{more}; pass --overwrite to replace or "
        "--skip-existing to keep what is there"
    )


def _pictures(count: int) -> str:
    return "1 picture" if count == 1 else f"{count} pictures"


def _size(text: str) -> int | str:
    return FULL if text == FULL else int_in_range(text, SHORTEST, MOST, "the size")


def _batch(text: str) -> int:
    return int_in_range(text, 1, MOST_BATCH, "the batch")
