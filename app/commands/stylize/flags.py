"""The flags of `stylize`, which jobs of the queue share."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.batch.shard import AUTO, Shard, ShardError, parse_shard
from app.commands.argument_types import int_in_range
from app.commands.common_flags import add_device, add_kernels, add_precision, add_style
from app.commands.style_flags import add_style_options
from app.commands.stylize.film_flags import add_film_flags
from app.commands.stylize.limits import MOST
from app.commands.stylize.naming import FIELDS, name_pattern
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
        "receives the same names in the same subfolders; formats that cannot be written become PNG "
        "or MP4. Results are written completely or not at all, so an interrupted run can be "
        "continued by the same command with --skip-existing. Pictures keep the color profile and "
        "the EXIF data; PNG and TIFF keep 16 bits per channel, and these and WebP transparency.",
    )
    add_inputs(parser)
    add_look(parser)
    add_sharing(parser)
    parser.set_defaults(resume=False)
    add_telling(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="list what would be stylized and where to, and write nothing",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="a picture, film, folder or pattern, or - for a list of files and folders on stdin, "
        "one a line or, as of find -print0, with a NUL after each",
    )
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
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
        help="skip what has a result that exists, to continue an interrupted run "
        "(default: do nothing if any result exists)",
    )
    fields = ", ".join(f"{{{name}}}" for name in FIELDS)
    parser.add_argument(
        "--name",
        type=name_pattern,
        metavar="PATTERN",
        help=f"names of the results in the folder OUT, made of {fields} and text, as in "
        '"{stem}-{style}{suffix}" or "{style}/{number:04}.webp"; the ending chooses the format '
        "(default: those of the inputs)",
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
        help="long side of the network's input, or full for the picture's own: the larger it is, "
        "the finer the strokes; the result always has the picture's size and detail (default: the "
        f"picture's own, at most {MAX_SIZE})",
    )
    parser.add_argument(
        "--depth",
        type=int,
        choices=(8, 16),
        help="bits per channel of pictures; 16 of PNG and TIFF only (default: those of the "
        "picture)",
    )
    parser.add_argument(
        "--batch",
        type=_batch,
        metavar="N",
        help="pictures of one size, one after the other in their order, or frames of a film, that "
        "go through the network together, as many as fit into memory; results differ by rounding "
        f"(default: on a GPU up to {BATCH}, fewer of large pictures, and 1 on the CPU)",
    )
    parser.add_argument(
        "--before-after",
        choices=tuple(ARRANGEMENTS),
        default="",
        help="save each picture together with its original, in sRGB with 8 bits: side by side, or "
        "split in the middle by a thin line",
    )
    add_style_options(parser)
    add_film_flags(parser)


def add_sharing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shard",
        type=_shard,
        metavar=f"I/N|{AUTO}",
        help="stylize every N-th picture or film, beginning with the I-th (from 1), and write a "
        "manifest: "
        "N processes with the same command do everything once. auto takes I and N from torchrun "
        "(RANK), SLURM or a Kubernetes indexed job; auto/N takes I alone",
    )
    parser.add_argument(
        "--cluster",
        metavar="auto|ADDRESS",
        help="share the work among the machines of a Ray cluster, ray://HOST:PORT or HOST:PORT; "
        "auto is the one that RAY_ADDRESS names, or without it this machine alone. Needs the extra "
        "cluster. All machines see the same folders, or pictures are read from and written to "
        "addresses such as s3://BUCKET/FOLDER",
    )
    parser.add_argument(
        "--manifest",
        type=Path,
        metavar="FILE",
        help="write what was made of what, as JSON, for `styleforge merge-manifests` (default: "
        "manifest-I-of-N.json in OUT of a shard, none otherwise)",
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
        help="print errors alone",
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
        help="a bar on a terminal, or JSON lines on stdout for scripts, described in the manual "
        "(default: bar)",
    )


def _size(text: str) -> int | str:
    return FULL if text == FULL else int_in_range(text, SHORTEST, MOST, "the size")


def _batch(text: str) -> int:
    return int_in_range(text, 1, MOST_BATCH, "the batch")


def _shard(text: str) -> Shard:
    try:
        return parse_shard(text)
    except ShardError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
