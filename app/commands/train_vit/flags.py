"""The flags of `styleforge train-vit`."""

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
    numbers,
)
from models.training.vit.config import VitTrainingConfig
from models.vit_checkpoints import STORAGES
from models.vit_config import VIT_VARIANTS

DEFAULTS = defaults_of(VitTrainingConfig)

# A field of VitTrainingConfig, its type, and its meaning.
NUMBERS: tuple[tuple[str, type, str], ...] = (
    ("content_weight", float, "weight of the content loss"),
    ("style_weight", float, "weight of the style loss"),
    ("moment_weight", float, "weight of the means and deviations in the style loss"),
    ("tv_weight", float, "weight of the total variation"),
    ("stability_weight", float, "weight of the stability loss for a static camera"),
    ("motion_weight", float, "weight of the stability loss for a moving camera"),
    (
        "stability_share",
        float,
        "share of a batch painted again, with a disturbance, for the stability losses",
    ),
    ("content_zoom", float, "largest enlargement of the photographs"),
    ("photo_share", float, "share of photographs among the style pictures"),
    ("jitter_share", float, "share of the style pictures with changed colors"),
    ("texture_share", float, "share of the photographs with noise added to flat areas"),
    ("texture", float, "largest standard deviation of that noise, on a scale of 0 to 255"),
    ("pooled_every", int, "interval of the steps with shared keys; 0 for none"),
    ("image_size", int, "side of the crops of photographs and style pictures, in pixels"),
    ("batch_size", int, "pairs of a photograph and a style picture per step and process"),
    ("lr", float, "AdamW's highest learning rate"),
    ("weight_decay", float, "AdamW's weight decay"),
    ("ema", float, "decay of the running mean of the weights, which the run writes"),
    ("seed", int, "random seed"),
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "train-vit",
        help="train an any-style network, which paints in the style of any picture",
        description="Train the any-style network from photographs and paintings. A run ends "
        "after --steps or after --seconds, and the learning rate falls over that "
        "time. Ctrl+C or --stage-seconds ends it earlier, with a checkpoint; the "
        "same command with --resume continues. Under torchrun every process trains "
        "on its own GPU.",
    )
    need = parser.add_argument
    need("--photos", type=Path, required=True, metavar="FOLDER", help="photographs to paint")
    need("--paintings", type=Path, required=True, metavar="FOLDER", help="pictures of styles")
    need(
        *("-o", "--output"),
        type=Path,
        required=True,
        metavar="FILE",
        help="the .safetensors file for the weights; the checkpoint is written next to it",
    )
    need("--variant", choices=list(VIT_VARIANTS), default="small", help="size (default: small)")
    need(
        "--held-out",
        type=Path,
        metavar="TOML",
        help='a file with the lists "photographs" and "paintings" of names to leave out of the '
        "training",
    )
    _add_recipe(parser)
    _add_machine(parser)
    parser.set_defaults(parser=parser)


def _add_recipe(parser: argparse.ArgumentParser) -> None:
    recipe = parser.add_argument_group("the recipe")
    recipe.add_argument("--steps", type=int, metavar="N", help="steps of the run")
    recipe.add_argument(
        "--seconds", type=float, metavar="N", help="duration of the run, over all its stages"
    )
    add_numbers(recipe, NUMBERS, DEFAULTS)
    add_style_scales(recipe, DEFAULTS["style_scales"])
    recipe.add_argument(
        "--style-zoom",
        type=numbers,
        default=DEFAULTS["style_zoom"],
        metavar="0.6,1.5",
        help="smallest and largest enlargement of the style pictures (default: 0.6,1.5)",
    )
    recipe.add_argument(
        "--init",
        type=Path,
        metavar="FILE",
        help="start from these weights of an earlier --output instead of random ones",
    )
    recipe.add_argument("--vgg", type=Path, required=True, metavar="FILE", help="VGG-19 weights")
    add_vgg_input(recipe)


def _add_machine(parser: argparse.ArgumentParser) -> None:
    machine = add_machine(parser)
    machine.add_argument(
        "--stage-seconds", type=float, metavar="N", help="end this process after N seconds"
    )
    add_checkpoint_interval(machine, 5000, "steps")
    machine.add_argument(
        "--storage",
        choices=STORAGES,
        default=STORAGES[0],
        help="precision of the written weights (default: float16); a finished run can be written "
        "again",
    )
