"""The flags of how the picture looks, which the window and the commands share.

Imports nothing that takes long, since the window's flags are listed by every `--help`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from app.mixing import parse_mix
from app.options import NETWORKS, STROKES, UPSAMPLING, Option
from app.settings import Settings


def add_style_options(parser: argparse.ArgumentParser, *, kept: bool = False) -> None:
    """`kept`: what is not given is None and stays as it was the last time."""
    defaults = Settings()

    def default(name: str) -> tuple[object, str]:
        value = getattr(defaults, name)
        return (None, "as the last time") if kept else (value, str(value))

    value, words = default("network")
    parser.add_argument(
        "--network",
        choices=list(NETWORKS),
        default=value,
        help=f"its size ({_listed(NETWORKS)}; default: {words})",
    )
    parser.add_argument(
        "--mix",
        type=_mix,
        metavar="KEY:SHARE",
        help="a second style and its share of 0 to 1, as in starry_night:0.4",
    )
    value, words = default("strokes")
    parser.add_argument(
        "--strokes",
        choices=list(STROKES),
        default=value,
        help=f"how wide they are ({_listed(STROKES)}; default: {words})",
    )
    value, words = default("upsampling")
    parser.add_argument(
        "--upsampling",
        choices=list(UPSAMPLING),
        default=value,
        help="how a result smaller than the picture is brought to its size "
        f"({_listed(UPSAMPLING)}; default: {words})",
    )
    value, words = default("smoothing")
    parser.add_argument(
        "--smoothing",
        type=lambda text: share(text, "the smoothing"),
        default=value,
        metavar="0-1",
        help="how far a video, or pictures that are its frames in order, is steadied where "
        f"nothing moves (default: {words})",
    )


def share(text: str, what: str) -> float:
    """A number within [0, 1], or argparse's error saying so."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{what} is a number of 0 to 1, not {text}")
    return value


def _listed(options: Mapping[str, Option]) -> str:
    return ", ".join(f"{key}: {_lower(option.remark)}" for key, option in options.items())


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _mix(text: str) -> tuple[str, float]:
    try:
        return parse_mix(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
