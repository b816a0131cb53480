"""`styleforge stylize`: stylizes picture files and folders."""

from __future__ import annotations

import argparse
import contextlib
import glob
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.commands.argument_types import int_in_range
from app.commands.common_flags import (
    add_device,
    add_kernels,
    add_precision,
    add_style,
)
from app.commands.memory_budget import bytes_per_pixel, free_bytes
from app.commands.style_flags import add_style_options
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.engine.resolution import SHORTEST, size_for, unhurried_size
from app.engine.result import StyledFrame
from app.errors import MAX_MESSAGE_LENGTH, StyleForgeError
from app.export.image_metadata import image_metadata
from app.frame import Frame
from app.options import DEFAULT_MIX_AMOUNT
from app.parameters import given_values
from app.sources import pictures_in
from app.styles.library import Library
from kernels.ops.registry import prepare
from models.precision import Precision
from utils.devices import resolve
from utils.images.opening import ImageError
from utils.images.reading import read_picture
from utils.images.writing import KEEPS_ALPHA, SAVED, write_pixels
from utils.text import printable

# Default of --size, the long side of the network's input. Larger pictures are scaled down for
# the network, and the result is scaled up again.
MAX_SIZE = {"cpu": 2048, "cuda": 4096}
MEMORY_FRACTION = 0.5  # of the free memory; the rest is for the picture and other programs


class StylizeError(StyleForgeError):
    """The command cannot be carried out at all."""


@dataclass(frozen=True, slots=True)
class Job:
    """One picture to read, and the file for its result."""

    source: Path
    target: Path


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command `stylize` and its flags."""
    parser = subparsers.add_parser(
        "stylize",
        help="stylize pictures and folders of pictures",
        description="Stylize pictures. Folders are searched recursively, and OUT receives the same "
        "names in the same subfolders; formats that cannot be written become PNG. Results are "
        "written completely or not at all, so an interrupted run can be continued by the same "
        "command with --skip-existing. PNG and WebP keep transparency; every result has 8 bits per "
        "channel.",
    )
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="a picture, folder or pattern")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="OUT",
        help="a folder, or for a single picture a file",
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--overwrite", action="store_true", help="replace results that exist")
    existing.add_argument(
        "--skip-existing",
        action="store_true",
        help="skip pictures whose result exists, to continue an interrupted run "
        "(default: do nothing if any result exists)",
    )
    add_style(parser)
    add_kernels(parser)
    add_precision(parser)
    add_device(parser)
    parser.add_argument(
        "--size",
        type=_size,
        metavar="PIXELS",
        help="long side of the network's input; the result always has the picture's size "
        f"(default: the picture's own, at most {MAX_SIZE['cpu']} on the CPU and "
        f"{MAX_SIZE['cuda']} on a GPU, less where memory is short)",
    )
    add_style_options(parser)


def run(args: argparse.Namespace) -> int:
    """Stylize all inputs; returns 1 if any of them failed, 0 otherwise."""
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True, emoji=False)
    notices: list[str] = []
    library = Library.default()
    engine = Engine(library, on_notice=notices.append)
    mix, amount = args.mix or (None, DEFAULT_MIX_AMOUNT)
    config = EngineConfig(
        **given_values(args),
        style=args.style,
        mix=mix,
        mix_amount=amount,
        kernels=args.kernels,
        precision=Precision[args.precision],
        device=args.device,
        size=args.size,
    )
    engine.configure(config)  # reports an invalid style or device first
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
            prepare()
    failed, done, styled = bool(problems), 0, None
    columns = (
        TextColumn("{task.description}", markup=False),  # file names may contain markup such as [b]
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("Stylizing", total=len(jobs))
        try:
            for job in jobs:
                progress.update(task, description=printable(job.source.name))
                try:
                    styled, remark = stylize(engine, config, job)
                except (StyleForgeError, ImageError, OSError) as exc:
                    failed = True
                    progress.console.print(f"styleforge: {_error_text(job.source, exc)}")
                else:
                    done += 1
                    if remark:
                        progress.console.print(remark)
                while notices:
                    progress.console.print(notices.pop(0))
                progress.advance(task)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Stopped after {done} of {len(jobs)} pictures; those are complete."
            ) from None
    if styled:
        console.print(f"{_pictures(done)} in {_shown(args.output)} ({styled.running})")
    return 1 if failed else 0


def stylize(engine: Engine, config: EngineConfig, job: Job) -> tuple[StyledFrame, str]:
    """Stylize one picture and save it.

    Args:
        engine: runs the network; its config is changed.
        config: the config of the command line.
        job: the picture and the file for its result.

    Returns:
        The result, and a remark for the user, which may be empty.

    Raises:
        ImageError: the picture cannot be read or written; no file is left.
        StyleForgeError: it cannot be stylized.
        OSError: the folder cannot be written.
    """
    picture = read_picture(job.source)
    frame = Frame(picture.pixels, alpha=picture.alpha)
    room = size_for(config, max_long_side(frame, resolve(config.device), config.precision))
    if config.size and config.size > room:
        raise StylizeError(
            f"'{printable(job.source.name)}' does not fit into memory at size {config.size}; "
            f"{room} and less would"
        )
    limit = min(room, MAX_SIZE[resolve(config.device).type])
    size = unhurried_size(config, frame.width, frame.height, limit)
    engine.configure(replace(config, size=size))
    follow = config.smoothing > 0  # the pictures are consecutive frames of a video
    styled = engine.process(frame, ProcessMode.SEQUENCE if follow else ProcessMode.REFINE)
    job.target.parent.mkdir(parents=True, exist_ok=True)
    write_pixels(job.target, styled.frame.pixels, image_metadata(styled), alpha=picture.alpha)
    limitations = [picture.loss] if picture.loss else []
    if picture.alpha is not None and job.target.suffix.lower() not in KEEPS_ALPHA:
        limitations.append("its transparent parts became white, since JPEG has no transparency")
    if not config.size and size < max(frame.width, frame.height):
        width, height = styled.size
        limitations.append(
            f"{frame.width}x{frame.height} is large; it was stylized at "
            f"{width}x{height} and scaled back (--size changes that)"
        )
    named = f"{printable(job.source.name)}: " if limitations else ""
    return styled, named + "; ".join(limitations)


def max_long_side(frame: Frame, device: torch.device, precision: Precision) -> int:
    """Return the long side of the network's input, in pixels, that fits into the free memory."""
    pixels = free_bytes(device) * MEMORY_FRACTION / bytes_per_pixel(device, precision)
    long_side, short_side = max(frame.width, frame.height), min(frame.width, frame.height)
    return int(math.sqrt(pixels * long_side / short_side))


def plan_jobs(inputs: list[str], output: Path) -> tuple[list[Job], list[str]]:
    """Find the pictures and the files for their results.

    Args:
        inputs: pictures, folders and patterns.
        output: a folder, or for one picture a file.

    Returns:
        The jobs, and one sentence for each input that cannot be used.

    Raises:
        StylizeError: results cannot be written to `output`, or would overwrite one another or an
            input.
    """
    problems: list[str] = []
    found: list[tuple[Path, Path]] = []  # the picture, and its path relative to the output folder
    for text in inputs:
        paths = _expand(text)
        if not paths:
            problems.append(f"'{_shown(text)}' does not exist")
        for path in paths:
            if path.is_dir():
                known = len(problems)
                pictures = [
                    (picture, picture.relative_to(path))
                    for picture in _pictures_below(path, output, problems)
                ]
                if not pictures and len(problems) == known:
                    problems.append(f"'{_shown(path)}' holds no pictures")
                found += pictures
            else:
                found.append((path, Path(path.name)))
    single = len(found) == 1 and not Path(inputs[0]).is_dir()
    to_file = single and bool(output.suffix) and not output.is_dir()
    if to_file and output.suffix.lower() not in SAVED:
        raise StylizeError(
            f"the result cannot be '{_shown(output)}': it must end in {', '.join(SAVED)}"
        )
    if not to_file and output.is_file():
        raise StylizeError(f"'{_shown(output)}' is a file where a folder for the results should be")
    jobs = [Job(path, output if to_file else output / _target_name(name)) for path, name in found]
    sources = {_identity(job.source) for job in jobs}
    taken: dict[Path, Path] = {}
    for job in jobs:
        target = _identity(job.target)
        if target in sources:
            raise StylizeError(f"'{_shown(job.target)}' is an input and would be overwritten")
        if target in taken and taken[target] != job.source:
            raise StylizeError(
                f"'{_shown(taken[target])}' and '{_shown(job.source)}' would both become "
                f"'{_shown(job.target)}'"
            )
        taken[target] = job.source
    return list({_identity(job.target): job for job in jobs}.values()), problems


def _expand(text: str) -> list[Path]:
    """Return the path `text`, or the paths it matches as a pattern; not every shell expands
    patterns.
    """
    if not text:  # an empty shell variable; Path("") would be the working folder
        return []
    path = Path(text).expanduser()
    if path.exists():
        return [path]
    if glob.has_magic(text):
        # Path.glob does not accept absolute patterns.
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207
        return [Path(match) for match in sorted(matches)]
    return []


def _pictures_below(folder: Path, output: Path, problems: list[str]) -> Iterator[Path]:
    """Yield the pictures in `folder` and its visible subfolders, except in `output`."""

    def refused(exc: OSError) -> None:
        problems.append(f"the folder '{_shown(exc.filename)}' cannot be read: {exc.strerror}")

    skip = _identity(output)
    for where, folders, _ in os.walk(folder, onerror=refused):
        here = Path(where)
        folders[:] = sorted(
            name for name in folders if name[0] != "." and _identity(here / name) != skip
        )
        # A folder may contain only folders.
        with contextlib.suppress(StyleForgeError):
            yield from pictures_in(here)


def _target_name(name: Path) -> Path:
    """Return the name of the result; a format that cannot be written becomes PNG ("x.tif.png")."""
    return name if name.suffix.lower() in SAVED else name.with_name(f"{name.name}.png")


def _identity(path: Path) -> Path:
    return Path(os.path.normcase(path.resolve()))


def _error_text(path: Path, exc: Exception) -> str:
    """Describe the error with the whole path, since several folders may contain the same name."""
    if isinstance(exc, OSError):
        return f"'{_shown(exc.filename or path)}': {exc.strerror or exc}"
    fault, name = str(exc), printable(path.name)
    if f"'{name}'" in fault:
        return fault.replace(f"'{name}'", f"'{_shown(path)}'", 1)
    return fault if _shown(path) in fault else f"'{_shown(path)}': {fault}"


def _exists_message(existing: list[Job]) -> str:
    """The error message if results exist, with the first of them."""
    more = f", and so do {len(existing) - 1} more results" if len(existing) > 1 else ""
    return (
        f"'{_shown(existing[0].target)}' exists{more}; pass --overwrite to replace or "
        "--skip-existing to keep what is there"
    )


def _shown(path: object) -> str:
    """Return a whole path in printable form."""
    return printable(str(path), MAX_MESSAGE_LENGTH)


def _pictures(count: int) -> str:
    return "1 picture" if count == 1 else f"{count} pictures"


def _size(text: str) -> int:
    return int_in_range(text, SHORTEST, 16384, "the size")
