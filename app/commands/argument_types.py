"""Parsers for argparse: each returns a checked value or raises argparse.ArgumentTypeError."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from app.options import NAMED_DIRECTIONS, direction_of
from app.parameters import AUTO
from utils.stroke_directions import HALF_TURN, Handles, parse_handles


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
    keys = AUTO, *NAMED_DIRECTIONS
    try:
        value = float(text) % HALF_TURN % HALF_TURN  # twice, since -1e-20 % 180 is 180
    except ValueError:
        value = text
    found = direction_of(value, keys)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{what} must be {', '.join(keys)} or an angle in degrees, not {text}"
        )
    return found


def handles(text: str) -> Handles:
    """Parse the handles of strokes that are combed by hand."""
    try:
        return parse_handles(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc


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
