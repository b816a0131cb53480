"""The flags, the recipe and the facts that `train` and `train-vit` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from statistics import fmean
from typing import Any

import torch

from models.training.config import PRECISIONS, TrainingConfig
from models.training.features import INPUTS
from models.training.saved_run import SavedRun
from models.training.vit.config import VitTrainingConfig
from utils.devices import title

AVERAGED = 20  # the losses in a written file are means over this many last readings
LOSSES = ("loss", "content", "style", "tv", "stability")


def defaults_of(config: type[TrainingConfig | VitTrainingConfig]) -> dict[str, Any]:
    return {field.name: field.default for field in fields(config)}


def add_numbers(
    group: argparse._ArgumentGroup,
    rows: Iterable[tuple[str, type, str]],
    defaults: Mapping[str, Any],
) -> None:
    """Add a flag for each field of a config, given with its type and its meaning."""
    for name, kind, meaning in rows:
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=defaults[name],
            metavar="N",
            help=f"{meaning} (default: {defaults[name]:g})",
        )


def add_style_scales(group: argparse._ArgumentGroup, default: Sequence[float]) -> None:
    group.add_argument(
        "--style-scales",
        type=numbers,
        default=default,
        metavar="1,0.5",
        help="scales at which to compare the result and the style picture (default: "
        f"{','.join(f'{scale:g}' for scale in default)})",
    )


def add_vgg_input(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--vgg-input",
        choices=list(INPUTS),
        help="input format that FILE was trained with (default: from its metadata)",
    )


def add_machine(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    machine = parser.add_argument_group("the machine")
    machine.add_argument(
        "--device",
        default="auto",
        help="auto, cpu, cuda:0, ... (default: auto, a GPU if available)",
    )
    machine.add_argument(
        "--precision",
        choices=("auto", *PRECISIONS),
        default="auto",
        help="bf16 uses autocast (default: auto, which is bf16 on a GPU that supports it)",
    )
    machine.add_argument("--compile", action="store_true", help="compile the network for speed")
    machine.add_argument("--resume", action="store_true", help="resume from the last checkpoint")
    return machine


def add_checkpoint_interval(group: argparse._ArgumentGroup, default: int, steps: str) -> None:
    group.add_argument(
        "--checkpoint-interval",
        type=int,
        default=default,
        metavar="N",
        help=f"{steps} between checkpoints (default: {default})",
    )


def numbers(text: str) -> tuple[float, ...]:
    """Parse comma-separated numbers. Raises argparse.ArgumentTypeError."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers like 1,0.5, not '{text}'") from None


def given_fields(
    args: argparse.Namespace, config: type[TrainingConfig | VitTrainingConfig], device: torch.device
) -> dict[str, Any]:
    """Return the fields of a config that the flags give; "auto" becomes the device's precision."""
    given = {f.name: getattr(args, f.name) for f in fields(config) if f.name in args}
    if given["precision"] == "auto":
        modern = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        given["precision"] = "bf16" if modern else "fp32"
    return {name: value for name, value in given.items() if value is not None}


def speed_up(device: torch.device, precision: str) -> None:
    """Choose PyTorch's fastest settings for a training on a GPU."""
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True  # every batch has the same shape
        # In half precision only the Gram matrices use FP32; TF32 is accurate enough for them.
        torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"


def final_losses(training: SavedRun[Any, Any], names: Iterable[str] = LOSSES) -> dict[str, float]:
    """Return the means of the last losses, to four digits, as metadata."""
    last = training.history[-AVERAGED:]
    means = {name: fmean(getattr(reading, name) for reading in last) for name in names if last}
    return {f"final_{name}": float(f"{mean:.4g}") for name, mean in means.items()}


def made_with(training: SavedRun[Any, Any], command: str) -> dict[str, str]:
    """Return the machine, the version of PyTorch and the command line, as metadata."""
    return {"device": title(training.device), "torch": torch.__version__, "command": command}
