"""Flags that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from app.engine.config import EngineConfig
from app.errors import StyleForgeError
from app.options import EVERYTHING, ONLY_PERSON
from models.precision import Precision
from models.transformer_net import ALL_VARIANTS, VARIANTS

DEFAULTS = EngineConfig()


def add_style(parser: argparse._ActionsContainer, default: str | None = DEFAULTS.style) -> None:
    """Add --style; a `default` of None is for commands that apply DEFAULTS.style themselves.

    In a group of mutually exclusive flags, it counts only if it differs from the default.
    """
    parser.add_argument(
        "--style",
        metavar="KEY",
        default=default,
        help=f"see `styleforge styles list` (default: {DEFAULTS.style})",
    )


def add_device(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add --device; with `several`, it may name more than one."""
    more = "; cuda:0,cuda:1 or all (every GPU) share the work" if several else ""
    parser.add_argument(
        "--device",
        default=DEFAULTS.device,
        help=f"auto, cpu, cuda:0, webgpu, webgpu:1, ...{more} (default: auto: an NVIDIA GPU, or "
        "another GPU that `styleforge doctor --measure` or the window found to be faster than the "
        "CPU)",
    )


def add_kernels(parser: argparse.ArgumentParser) -> None:
    titles = ", ".join(f"{key}: {variant.title}" for key, variant in VARIANTS.items())
    parser.add_argument(
        "--kernels",
        choices=list(ALL_VARIANTS),
        default=DEFAULTS.kernels,
        help=f"how the network runs ({titles}; others are runtimes that you installed; default: "
        f"{DEFAULTS.kernels})",
    )


def add_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--precision",
        choices=[precision.name for precision in Precision],
        default=DEFAULTS.precision.name,
        help="precision of the network's calculations; on a CPU fp32, and bf16 if it is faster "
        f"there (default: {DEFAULTS.precision.name})",
    )


def add_matte(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--matte",
        "--background",
        type=Path,
        metavar="FILE",
        help="paint only a person, or what --paint says: FILE is a picture of the empty scene, or "
        "a segmentation network as ONNX, with one picture in and one mask out",
    )


def matte_values(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a config that --matte and --paint set.

    With --matte, the person is painted by default.

    Raises:
        StyleForgeError: If --paint needs --matte.
    """
    if args.matte is not None:
        paint = ONLY_PERSON if args.paint == EVERYTHING else args.paint
        return {"matte": str(args.matte.absolute()), "paint": paint}
    if args.paint != EVERYTHING:
        raise StyleForgeError(
            f"--paint {args.paint} needs --background or --matte, to find the person"
        )
    return {}


def add_quiet(parser: argparse.ArgumentParser, what: str = "only errors") -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help=f"print {what}")
