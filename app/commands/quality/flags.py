"""The flags of `styleforge quality`."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.commands.argument_types import comma_separated, direction, int_in_range, unit_interval
from app.commands.common_flags import add_device, add_kernels
from app.options import AS_THEY_ARE
from app.parameters import AUTO
from app.styles.catalog import BUILTIN
from models.network_config import CONFIGS
from models.precision import Precision
from models.training.features import INPUTS

PHOTOGRAPHS, SCENE = 512, 192  # pixels: default of --size
TEXTURED = (512, 1280)  # pixels: default of --texture-sizes
FILM = 384  # pixels: default of --film-size
CELL = 256  # pixels: default of --cell
OWN = "own"  # in --strokes-directions, as in benchmarks.quality.strokes, which imports OpenCV
DEFAULT_PRECISIONS = ("fp32", "fp16", "bf16")
MAX_SIZE = 4096  # pixels; larger pictures need tens of gigabytes for the objective


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "quality",
        help="measure the quality of styles on photographs",
        description="Measures styles on photographs that were not used for training: the "
        "training objective compared with direct optimization (L-BFGS), flicker, "
        "clipped pixels, border artifacts, the error of lower precisions, and the "
        "flicker of films. Without flags, it measures the built-in scene; with only "
        "--films, it measures only films. Without a GPU, use few photographs, a "
        "small --size and --lbfgs-photos 0.",
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
        help="keep the other styles of an existing report in --json, if it was measured under "
        "the same conditions; several runs may add to one report at the same time",
    )
    need(
        "--sheet",
        type=Path,
        metavar="FILE",
        help="write a contact sheet to this file, and one for each style next to it, named "
        "FILE-KEY",
    )
    need(
        "--mix-sheet", type=Path, metavar="FILE", help="write a sheet of mixed styles to this file"
    )
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
        help="the folder of style packs (default: the built-in styles)",
    )
    styles.add_argument(
        "--styles",
        type=lambda text: tuple(part.strip() for part in text.split(",")),
        default=(),
        metavar="KEY,...",
        help="which styles (default: all in the folder)",
    )
    styles.add_argument(
        "--styles-images",
        type=Path,
        metavar="FOLDER",
        help="the folder of the paintings, named like the styles: candy.jpg",
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
        help=f"which networks of {', '.join(CONFIGS)} (default: all)",
    )
    styles.add_argument(
        "--any-style",
        type=Path,
        nargs="+",
        default=(),
        metavar="FILE",
        help="also measure these any-style networks in the style of each painting",
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
        help=f"which of {', '.join(names)} (default: {','.join(DEFAULT_PRECISIONS)}; fp32 for the "
        "scene); fp32 is always measured",
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
    how.add_argument(
        "--texture",
        type=lambda text: unit_interval(text, "the texture"),
        default=0.0,
        metavar="0-1",
        help="measure flicker with this texture as well, 0 to 1 (default: 0)",
    )
    add_device(how)
    add_kernels(how)
    textures = parser.add_argument_group(
        "texture",
        "The photographs in each style with texture of 0 to 100 %: sheets to look at, how much "
        "texture changes flat and other parts of the photograph, and how much more a stream "
        "flickers with the style's own amount of texture.",
    )
    textures.add_argument(
        "--texture-sheet",
        type=Path,
        metavar="FILE",
        help="store a sheet for each style and size, named FILE-KEY-SIZE, and measure texture",
    )
    textures.add_argument(
        "--texture-sizes",
        type=_sizes,
        default=TEXTURED,
        metavar="N,...",
        help="long sides of the photographs for the sheets, in pixels (default: "
        f"{','.join(map(str, TEXTURED))})",
    )
    _add_strokes(parser)
    films = parser.add_argument_group(
        "films",
        "How steady films are in each style: the mean difference of consecutive frames along the "
        "source's optical flow, where both frames show the same scene.",
    )
    films.add_argument(
        "--films", type=Path, nargs="+", default=(), metavar="FILE", help="video files"
    )
    films.add_argument(
        "--film-frames",
        type=lambda text: int_in_range(text, 2, 1_000_000, "the number of frames"),
        default=60,
        metavar="N",
        help="the first N frames of each (default: 60)",
    )
    films.add_argument(
        "--film-size",
        type=lambda text: int_in_range(text, 64, MAX_SIZE, "the size"),
        default=FILM,
        metavar="N",
        help=f"the long side frames are scaled down to, in pixels (default: {FILM})",
    )
    films.add_argument(
        "--smoothing",
        type=_amounts,
        default=(0.0, 0.5, 1.0),
        metavar="0-1,...",
        help="amounts of smoothing, each measured separately (default: 0,0.5,1)",
    )
    films.add_argument(
        "--fluid",
        action="store_true",
        help="measure only how well a slow stream shows the films of --films and the built-in "
        "scene: the last painting repeated, blended into the next one, and moved with the scene",
    )
    films.add_argument(
        "--fluid-sheet",
        type=Path,
        metavar="FILE",
        help="store a sheet of each style and film with --fluid, named FILE-KEY-FILM",
    )


def _add_strokes(parser: argparse.ArgumentParser) -> None:
    strokes = parser.add_argument_group(
        "strokes",
        "Only how strokes look in each direction, and how much more a stream or a film flickers "
        "with them than with strokes as they are.",
    )
    strokes.add_argument(
        "--strokes",
        action="store_true",
        help="measure only the strokes of --photos, at the first size, and of --films",
    )
    strokes.add_argument(
        "--strokes-sheet",
        type=Path,
        metavar="FILE",
        help="store a sheet for each style and size, named FILE-KEY-SIZE, with a row for each "
        "photograph and a column for each direction, and one for each size, named FILE-SIZE, "
        "with a row for each style, of the first photograph",
    )
    strokes.add_argument(
        "--strokes-sizes",
        type=_sizes,
        default=TEXTURED,
        metavar="N,...",
        help=f"long sides of the photographs, in pixels (default: {','.join(map(str, TEXTURED))})",
    )
    strokes.add_argument(
        "--strokes-directions",
        type=_directions,
        default=(),
        metavar="WORD,...",
        help="which directions: follow, swirl, own for the style's, or angles in degrees (default: "
        "follow,swirl,45)",
    )
    strokes.add_argument(
        "--strokes-length",
        type=lambda text: unit_interval(text, "the length of strokes"),
        metavar="0-1",
        help="the length of strokes, 0 to 1 (default: the style's own)",
    )
    strokes.add_argument(
        "--strokes-paintings",
        type=Path,
        nargs="+",
        default=(),
        metavar="PICTURE",
        help="instead of the styles, paint in the styles of these pictures, with strokes as they "
        "are and as the picture's own; the sheet is named FILE-paintings",
    )
    strokes.add_argument(
        "--originals",
        action="store_true",
        help="also show the photographs and the paintings on the sheets",
    )
    strokes.add_argument(
        "--cell",
        type=lambda text: int_in_range(text, 16, MAX_SIZE, "the cell"),
        default=CELL,
        metavar="N",
        help=f"maximum long side of a picture on the sheets, in pixels (default: {CELL})",
    )
    strokes.add_argument(
        "--sheet-quality",
        type=lambda text: int_in_range(text, 0, 100, "the quality of sheets"),
        default=95,
        metavar="0-100",
        help="quality of sheets in JPEG and WebP (default: 95)",
    )


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for part in text.split(","):
        one, _, other = (name.strip() for name in part.partition(":"))
        if not (one and other):
            raise argparse.ArgumentTypeError(f"'{part}' is not a pair such as candy:mosaic")
        pairs.append((one, other))
    return tuple(pairs)


def _directions(text: str) -> tuple[float | str, ...]:
    parts = [part.strip() for part in text.split(",")]
    found = dict.fromkeys(OWN if part == OWN else direction(part, "a direction") for part in parts)
    for word in (AUTO, AS_THEY_ARE):
        if word in found:
            raise argparse.ArgumentTypeError(f"'{word}' is not a direction of strokes")
    return tuple(found)


def _sizes(text: str) -> tuple[int, ...]:
    sizes = {int_in_range(part, 64, MAX_SIZE, "the size") for part in text.split(",")}
    return tuple(sorted(sizes))


def _amounts(text: str) -> tuple[float, ...]:
    return tuple(sorted({unit_interval(part, "the smoothing") for part in text.split(",")}))


def _iterations(text: str) -> tuple[int, ...]:
    numbers = {int_in_range(part, 1, 100_000, "a number of iterations") for part in text.split(",")}
    return tuple(sorted(numbers))
