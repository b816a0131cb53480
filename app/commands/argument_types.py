"""Parsers for argparse: each returns a checked value or raises argparse.ArgumentTypeError."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable

from app.options import HALF_TURN, ONE_WAY, STROKE_DIRECTIONS
from app.parameters import AUTO


def comma_separated(names: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Return an argparse type for lowercase `names`, comma-separated, in any case and order."""
    known = tuple(names)

    def parse(text: str) -> tuple[str, ...]:
        asked = [part.strip() for part in text.split(",")]
        for part in asked:
            if part.lower() not in known:
                raise argparse.ArgumentTypeError(f"'{part}' is not one of {', '.join(known)}")
        lower = {part.lower() for part in asked}
        return tuple(name for name in known if name in lower)

    return parse


def int_in_range(text: str, low: int, high: int, what: str) -> int:
    """Parse an integer from `low` to `high`; `what` names it in the error message."""
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(
            f"{what} must be a whole number from {low} to {high}, not {text}"
        )
    return value


def amount(text: str, what: str) -> float | str:
    """Parse a number from 0 to 1, or "auto"; `what` names it in the error message."""
    return AUTO if text == AUTO else unit_interval(text, what, f"{AUTO} or ")


def direction(text: str, what: str) -> float | str:
    """Parse the direction of strokes: a key, an angle in degrees, or "auto"."""
    keys = AUTO, *(key for key in STROKE_DIRECTIONS if key != ONE_WAY)
    if text in keys:
        return text
    try:
        angle = float(text)
    except ValueError:
        angle = math.nan
    if not math.isfinite(angle):
        raise argparse.ArgumentTypeError(
            f"{what} must be {', '.join(keys)} or an angle in degrees, not {text}"
        )
    return angle % HALF_TURN


def unit_interval(text: str, what: str, besides: str = "") -> float:
    """Parse a number from 0 to 1; errors name it `what` and list further values in `besides`."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(
            f"{what} must be {besides}a number from 0 to 1, not {text}"
        )
    return value
