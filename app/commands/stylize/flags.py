"""The flags of `stylize`, which jobs of the queue share."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.batch.jobs.naming import FIELDS, NamePattern, name_pattern
from app.batch.limits import MOST
from app.batch.shard import AUTO, Shard, ShardError, parse_shard
from app.commands.argument_types import int_in_range
from app.commands.common_flags import add_device, add_kernels, add_matte, add_precision, add_style
from app.commands.style_flags import add_style_options
from app.commands.stylize.film_flags import add_film_flags
from app.commands.stylize.reporters import Loudness
from app.commands.stylize.style_images import add_style_images
from app.engine.network_pool import BATCH
from app.engine.resolution import MAX_SIZE, SHORTEST
from app.export.before_after.composing import ARRANGEMENTS

MOST_BATCH = 64
FULL = "full"  # instead of a number of pixels: all pixels


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "stylize",
        help="stylize pictures, films, animations and folders of them",
        description="Stylize pictures and films. Folders are searched recursively, and OUT "
        "receives the same names in the same subfolders; formats that cannot be "
        "written become PNG or MP4. Results are written completely or not at all, so "
        "the same command with --skip-existing continues an interrupted run. "
        "Pictures keep their color profile and EXIF data. PNG and TIFF keep 16 bits "
        "per channel; PNG, TIFF and WebP keep transparency.",
    )
    add_inputs(parser)
    add_look(parser)
    add_sharing(parser)
    add_telling(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="list the inputs and their results, and write nothing",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="a picture, film, folder or pattern, or - for a list of files and folders on stdin, "
        "one per line, or separated by NUL as find -print0 writes it",
    )
    parser.add_argument(
        "--leave-out",
        action="append",
        default=[],
        type=Path,
        metavar="FOLDER",
        help="do not search this folder within an INPUT, such as one with earlier results; may "
        "be repeated; OUT is always left out",
    )
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="OUT",
        help="the folder for the results, or a file for a single picture or film",
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--overwrite", action="store_true", help="replace existing results")
    existing.add_argument(
        "--skip-existing",
        action="store_true",
        help="skip inputs whose result exists, to continue an interrupted run (default: do "
        "nothing if any result exists)",
    )
    fields = ", ".join(f"{{{name}}}" for name in FIELDS)
    parser.add_argument(
        "--name",
        type=_name,
        metavar="PATTERN",
        help=f"names of the results in the folder OUT, composed of {fields} and text, such as "
        '"{stem}-{style}{suffix}" or "{style}/{number:04}.webp"; the ending '
        "chooses the format (default: the names of the inputs)",
    )


def add_look(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_mutually_exclusive_group()
    add_style(chosen, default=None)
    add_style_images(parser, chosen)
    add_kernels(parser)
    add_precision(parser)
    add_device(parser, several=True)
    parser.add_argument(
        "--size",
        type=_size,
        metavar="PIXELS",
        help="long side of the network's input, or full for the picture's own; a larger size "
        "paints finer strokes; the result always has the picture's size and detail "
        f"(default: the picture's own, at most {MAX_SIZE})",
    )
    parser.add_argument(
        "--long-side",
        type=_long_side,
        metavar="PIXELS",
        help="reduce larger pictures to this long side before they are painted, so that results "
        "are smaller and made faster; films keep their size (default: the picture's own)",
    )
    parser.add_argument(
        "--depth",
        type=int,
        choices=(8, 16),
        help="bits per channel of the results; 16 only for PNG and TIFF (default: as in the "
        "picture)",
    )
    parser.add_argument(
        "--batch",
        type=_batch,
        metavar="N",
        help="how many consecutive pictures of one size, or frames of a film, go through the "
        "network together, if they fit into memory; results differ by rounding (default: up "
        f"to {BATCH} on a GPU, fewer for large pictures; 1 on the CPU)",
    )
    parser.add_argument(
        "--before-after",
        choices=tuple(ARRANGEMENTS),
        default="",
        help="save each picture together with its original: side by side, or split in the middle "
        "by a thin line; in sRGB with 8 bits per channel",
    )
    add_style_options(parser)
    add_matte(parser)
    add_film_flags(parser)


def add_sharing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shard",
        type=_shard,
        metavar=f"I/N|{AUTO}",
        help="stylize every N-th picture or film, beginning with the I-th (from 1), and write a "
        "manifest: N processes with the same command share all inputs. auto reads I and N "
        "from torchrun (RANK), SLURM or a Kubernetes indexed job; auto/N reads only I",
    )
    parser.add_argument(
        "--cluster",
        metavar="auto|ADDRESS",
        help="share the work among the machines of a Ray cluster, ray://HOST:PORT or HOST:PORT; "
        "auto is the cluster in RAY_ADDRESS, or else this machine alone. Needs the extra "
        '"cluster". All machines must see the same folders, or read and write addresses '
        "such as s3://BUCKET/FOLDER",
    )
    parser.add_argument(
        "--manifest",
        type=Path,
        metavar="FILE",
        help="write the inputs and their results as JSON, for `styleforge merge-manifests` "
        "(default: manifest-I-of-N.json in OUT for a shard, otherwise none)",
    )


def add_telling(parser: argparse.ArgumentParser) -> None:
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument(
        "-q",
        "--quiet",
        dest="loudness",
        action="store_const",
        const=Loudness.QUIET,
        default=Loudness.NORMAL,
        help="print only errors",
    )
    loudness.add_argument(
        "-v",
        "--verbose",
        dest="loudness",
        action="store_const",
        const=Loudness.VERBOSE,
        help="print a line for each picture and film",
    )
    parser.add_argument(
        "--progress",
        choices=("bar", "json"),
        default="bar",
        help="show a bar on a terminal, or print JSON lines on stdout for scripts, as the manual "
        "describes (default: bar)",
    )


def _size(text: str) -> int | str:
    return FULL if text == FULL else int_in_range(text, SHORTEST, MOST, "the size")


def _long_side(text: str) -> int:
    return int_in_range(text, SHORTEST, MOST, "the long side")


def _batch(text: str) -> int:
    return int_in_range(text, 1, MOST_BATCH, "the batch")


def _name(text: str) -> NamePattern:
    try:
        return name_pattern(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc


def _shard(text: str) -> Shard:
    try:
        return parse_shard(text)
    except ShardError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
