"""The flags of `styleforge train`."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.commands.training_recipe import (
    add_checkpoint_interval,
    add_machine,
    add_numbers,
    add_style_scales,
    add_vgg_input,
    defaults_of,
)
from models.network_config import CONFIGS
from models.training.config import TrainingConfig
from models.training.download import DOWNLOADS
from models.training.download.published import PART_MB, WHOLE_MB

DEFAULTS = defaults_of(TrainingConfig)
CACHED_PHOTOS = 8000  # 2 GB at the default sizes


def add_flags(parser: argparse.ArgumentParser) -> None:
    need = parser.add_argument
    need("--style-image", type=Path, required=True, metavar="PICTURE", help="the style picture")
    need(
        "--dataset",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="training photographs, searched recursively",
    )
    need(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="OUT",
        help="a folder for the new style pack, or a .safetensors file for only the weights",
    )
    _add_judge(parser)
    _add_recipe(parser)
    _add_machine(parser)
    _add_pack(parser)
    parser.set_defaults(parser=parser)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    vgg = parser.add_argument_group("loss network")
    vgg.add_argument(
        "--vgg",
        type=Path,
        metavar="FILE",
        help="VGG-19 weights (default: torchvision's, downloaded once)",
    )
    vgg.add_argument(
        "--vgg-download",
        choices=DOWNLOADS,
        default="layers",
        help=f"what to download: the layers in use, {PART_MB} MB, or the whole file, {WHOLE_MB} "
        "MB, which has a published checksum (default: layers)",
    )
    add_vgg_input(vgg)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    recipe = parser.add_argument_group("the recipe")
    rows = (
        ("content_weight", float, "weight of the content loss"),
        ("style_weight", float, "weight of the style loss"),
        ("tv_weight", float, "weight of the total variation"),
        ("stability_weight", float, "weight of the stability loss for a static camera"),
        ("motion_weight", float, "weight of the stability loss for a moving camera"),
        ("teacher_weight", float, "weight of the distillation loss against the --teacher"),
        ("weave_weight", float, "weight of the loss against fine horizontal and vertical stripes"),
        ("style_size", int, "long side of the style picture, in pixels"),
        ("image_size", int, "side of the training crops, in pixels"),
        ("batch_size", int, "photographs per step"),
        ("lr", float, "Adam's learning rate at the start"),
        ("seed", int, "random seed"),
    )
    add_numbers(recipe, rows, DEFAULTS)
    add_style_scales(recipe, DEFAULTS["style_scales"])
    recipe.add_argument("--epochs", type=int, metavar="N", help="passes over the photographs")
    recipe.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help=f"number of steps; overrides --epochs (default: {DEFAULTS['iterations']})",
    )
    recipe.add_argument(
        "--init",
        type=Path,
        metavar="CHECKPOINT",
        help="start from these weights instead of random ones",
    )
    recipe.add_argument(
        "--init-share",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the --init weights in the result, from 0 to 1; the rest are the trained "
        "weights (default: 0)",
    )
    recipe.add_argument(
        "--network",
        choices=list(CONFIGS),
        help="lite is narrower, for slow machines, and joins the style's pack if there is one "
        "(default: the network of --init, or full)",
    )
    recipe.add_argument(
        "--teacher",
        type=Path,
        metavar="CHECKPOINT",
        help="weights of the same style whose results the network imitates",
    )
    recipe.add_argument(
        "--exclude",
        type=Path,
        metavar="LIST",
        help="a text file with the names of photographs to leave out, one per line",
    )
    recipe.add_argument(
        "--skip-folder",
        default="",
        metavar="NAME",
        help="a subfolder of the photographs' folder to leave out",
    )
    recipe.add_argument(
        "--cache-photos",
        type=int,
        default=CACHED_PHOTOS,
        metavar="N",
        help="photographs to keep in memory; a larger folder is sampled at random "
        f"(default: {CACHED_PHOTOS})",
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    machine = add_machine(parser)
    machine.add_argument(
        "--finish",
        action="store_true",
        help="with --resume: train no further, and write the style as it is",
    )
    add_checkpoint_interval(machine, 500, "iterations")
    machine.add_argument(
        "--estimate",
        action="store_true",
        help="measure a few steps, print the estimated time, and exit",
    )
    machine.add_argument(
        "--json-progress", action="store_true", help="print one JSON object per line"
    )
    machine.add_argument(
        "--listen",
        action="store_true",
        help="treat a line on stdin, or the end of stdin, as Ctrl+C (for programs)",
    )


def _add_pack(parser: argparse.ArgumentParser) -> None:
    pack = parser.add_argument_group("the style pack")
    pack.add_argument(
        "--name", metavar="KEY", help="name of the style's folder (default: the picture's name)"
    )
    pack.add_argument("--title", help="title in the gallery (default: from KEY)")
    pack.add_argument("--credit", default="", help="author of the style picture")
    pack.add_argument("--licence", default="", help="license of the style")
    pack.add_argument(
        "--preview",
        type=Path,
        metavar="PICTURE",
        help="picture for the previews; training reads it again when it changes (default: a "
        "photograph)",
    )
    pack.add_argument(
        "--thumbnail",
        type=Path,
        metavar="PICTURE",
        help="picture for the thumbnail (default: that of --preview)",
    )
    pack.add_argument(
        "--overwrite", action="store_true", help="replace an existing style of this name"
    )
