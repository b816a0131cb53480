"""Flags that several commands share."""

from __future__ import annotations

import argparse

from app.engine.config import EngineConfig
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


def add_quiet(parser: argparse.ArgumentParser, what: str = "only errors") -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help=f"print {what}")
