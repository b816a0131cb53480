"""The flags of `styleforge train`."""

from __future__ import annotations

import argparse
from pathlib import Path

from models.network_config import CONFIGS
from models.training.config import PRECISIONS, TrainingConfig
from models.training.features import INPUTS

DEFAULTS = TrainingConfig()
CACHED_PHOTOS = 8000  # 2 GB at the default sizes


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags, and the parser itself as `parser`, for its defaults."""
    need = parser.add_argument
    need("--style-image", type=Path, required=True, metavar="PICTURE", help="what to learn")
    need(
        "--dataset",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="photographs to practise on, subfolders too",
    )
    need(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help="a folder, in which the style's own folder is made, "
        "or a .safetensors file for the weights alone",
    )
    _add_judge(parser)
    _add_recipe(parser)
    _add_machine(parser)
    _add_pack(parser)
    parser.set_defaults(parser=parser)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    vgg = parser.add_argument_group("the judging network")
    vgg.add_argument(
        "--vgg",
        type=Path,
        metavar="FILE",
        help="VGG-19 weights (default: torchvision's, 548 MB, downloaded once)",
    )
    vgg.add_argument(
        "--vgg-input",
        choices=list(INPUTS),
        help="which input FILE was trained on (default: what the file says of itself)",
    )


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    recipe = parser.add_argument_group("the recipe")
    for name, kind, meaning in (
        ("content_weight", float, "weight of the content loss"),
        ("style_weight", float, "weight of the style loss"),
        ("tv_weight", float, "weight of the total variation"),
        ("stability_weight", float, "weight of steadiness before a camera that stands still"),
        ("motion_weight", float, "weight of steadiness before one that moves"),
        ("teacher_weight", float, "weight of likeness to the --teacher's pictures"),
        ("style_size", int, "long side of the style picture, in pixels"),
        ("image_size", int, "side of the training crops, in pixels"),
        ("batch_size", int, "photographs in a step"),
        ("lr", float, "Adam's learning rate at the start"),
        ("seed", int, "begins every random number"),
    ):
        default = getattr(DEFAULTS, name)
        recipe.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=default,
            metavar="N",
            help=f"{meaning} (default: {default:g})",
        )
    recipe.add_argument(
        "--style-scales",
        type=_scales,
        default=DEFAULTS.style_scales,
        metavar="1,0.5",
        help="scales at which result and style picture are compared (default: 1)",
    )
    recipe.add_argument("--epochs", type=int, metavar="N", help="times to see every photograph")
    recipe.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help=f"steps to take, whatever --epochs says (default: {DEFAULTS.iterations})",
    )
    recipe.add_argument(
        "--init", type=Path, metavar="CHECKPOINT", help="begin from these weights, not at random"
    )
    recipe.add_argument(
        "--init-share",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="how much of the --init weights stays in the result, 0 to 1: between two sets of "
        "weights of one descent lie pictures between theirs (default: 0)",
    )
    recipe.add_argument(
        "--network",
        choices=list(CONFIGS),
        help="lite is narrower, for slow machines; into a folder that has the style's pack already "
        "it goes beside the full one (default: that of --init, or full)",
    )
    recipe.add_argument(
        "--teacher",
        type=Path,
        metavar="CHECKPOINT",
        help="weights of the same style, whose pictures are to be followed",
    )
    recipe.add_argument(
        "--exclude",
        type=Path,
        metavar="LIST",
        help="a text file naming photographs to leave out, one a line",
    )
    recipe.add_argument(
        "--cache-photos",
        type=int,
        default=CACHED_PHOTOS,
        metavar="N",
        help="photographs to keep in memory; of a larger folder, this many are drawn at random "
        f"(default: {CACHED_PHOTOS})",
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    machine = parser.add_argument_group("the machine")
    machine.add_argument(
        "--device", default="auto", help="auto, cpu, cuda:0, ... (default: auto, a GPU if any)"
    )
    machine.add_argument(
        "--precision",
        choices=("auto", *PRECISIONS),
        default="auto",
        help="bf16 is autocast (default: auto, bf16 on a GPU that has it)",
    )
    machine.add_argument("--compile", action="store_true", help="compile the network for speed")
    machine.add_argument("--resume", action="store_true", help="resume from the last checkpoint")
    machine.add_argument(
        "--checkpoint-interval",
        type=int,
        default=500,
        metavar="N",
        help="iterations between checkpoints (default: 500)",
    )
    machine.add_argument(
        "--estimate",
        action="store_true",
        help="take a few real steps, say how long the run would take, and end",
    )
    machine.add_argument(
        "--json-progress", action="store_true", help="print one JSON object a line"
    )
    machine.add_argument(
        "--listen",
        action="store_true",
        help="take a line on stdin, or its end, for Ctrl+C (for programs)",
    )


def _add_pack(parser: argparse.ArgumentParser) -> None:
    pack = parser.add_argument_group("the style pack")
    pack.add_argument("--name", metavar="KEY", help="its folder (default: the picture's name)")
    pack.add_argument("--title", help="its name for people (default: from KEY)")
    pack.add_argument("--credit", default="", help="whose picture it is")
    pack.add_argument("--licence", default="", help="what others may do with it")
    pack.add_argument(
        "--preview",
        type=Path,
        metavar="PICTURE",
        help="what to show the style on; read again when it changes (default: a photograph)",
    )
    pack.add_argument(
        "--thumbnail",
        type=Path,
        metavar="PICTURE",
        help="what the pack shows the style on (default: what --preview does)",
    )
    pack.add_argument("--overwrite", action="store_true", help="replace a style of this name")


def _scales(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers like 1,0.5, not '{text}'") from None
