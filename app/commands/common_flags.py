"""The flags that several commands share, generated from the tables they choose from."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from app.engine.config import EngineConfig
from models.precision import Precision
from models.transformer_net import VARIANTS

DEFAULTS = EngineConfig()


def add_style(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--style",
        metavar="KEY",
        default=DEFAULTS.style,
        help=f"see `styleforge styles list` (default: {DEFAULTS.style})",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        default=DEFAULTS.device,
        help="auto, cpu, cuda:0, ... (default: auto, a GPU if there is one)",
    )


def add_kernels(parser: argparse.ArgumentParser) -> None:
    titles = ", ".join(f"{key}: {variant.title}" for key, variant in VARIANTS.items())
    parser.add_argument(
        "--kernels",
        choices=list(VARIANTS),
        default=DEFAULTS.kernels,
        help=f"how the network runs ({titles}; default: {DEFAULTS.kernels})",
    )


def add_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--precision",
        choices=[precision.name for precision in Precision],
        default=DEFAULTS.precision.name,
        help=f"what it computes in (default: {DEFAULTS.precision.name})",
    )


def several(names: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """An argparse type: a comma-separated choice of `names`, in the order of `names`."""
    known = tuple(names)

    def parse(text: str) -> tuple[str, ...]:
        asked = [part.strip() for part in text.split(",")]
        for part in asked:
            if part not in known:
                raise argparse.ArgumentTypeError(f"'{part}' is none of {', '.join(known)}")
        return tuple(name for name in known if name in asked)

    return parse


def whole(text: str, low: int, high: int, what: str) -> int:
    """A whole number within [low, high], or argparse's error saying so."""
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{what} is a whole number of {low} to {high}, not {text}")
    return value
