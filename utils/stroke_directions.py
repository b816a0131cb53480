"""Directions of strokes: their names, and the handles of strokes that are combed by hand.

The program's tables and the kernels share them; this module imports nothing slow.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

FOLLOW, SWIRL, HAND = "follow", "swirl", "hand"
HALF_TURN = 180  # degrees, after which strokes lie as before
MOST_HANDLES = 12
_SHARE_DIGITS, _ANGLE_DIGITS = 4, 1  # decimals, so that a handle written and read is the same
_EXAMPLE = "0.25,0.4,30;0.7,0.6,120"


class Handle(NamedTuple):
    """A direction at a place of a picture.

    Attributes:
        x: Share of the picture's width, 0 at the left edge to 1.
        y: Share of the picture's height, 0 at the top edge to 1.
        angle: Degrees, counterclockwise from the horizontal, 0 to less than HALF_TURN.
    """

    x: float
    y: float
    angle: float

    @property
    def valid(self) -> bool:
        return 0 <= self.x <= 1 and 0 <= self.y <= 1 and 0 <= self.angle < HALF_TURN


Handles = tuple[Handle, ...]


def rounded_handle(x: float, y: float, angle: float) -> Handle:
    """Return a handle in the precision of its text; an angle beyond a half turn wraps around."""
    turned = round(angle % HALF_TURN, _ANGLE_DIGITS) % HALF_TURN
    return Handle(round(x, _SHARE_DIGITS), round(y, _SHARE_DIGITS), turned)


def format_handles(handles: Handles) -> str:
    """Write handles as "0.25,0.4,30;0.7,0.6,120"; "" for none."""
    return ";".join(f"{each.x:g},{each.y:g},{each.angle:g}" for each in handles)


def parse_handles(text: str) -> Handles:
    """Read the output of `format_handles`, rounded to its precision.

    Raises:
        ValueError: If `text` has another form. The message is one clause.
    """
    parts = [part for part in text.split(";") if part.strip()]
    if len(parts) > MOST_HANDLES:
        raise ValueError(f"at most {MOST_HANDLES} handles comb strokes, not {len(parts)}")
    return tuple(_parsed(part) for part in parts)


def _parsed(text: str) -> Handle:
    try:
        given = Handle(*(float(number) for number in text.split(",")))
    except (TypeError, ValueError):
        given = None
    if given is None or not given.valid:
        raise ValueError(
            f"a handle is x,y,angle, with x and y from 0 to 1 and an angle from 0 to less than "
            f"{HALF_TURN} degrees, as in {_EXAMPLE}, not '{text.strip()}'"
        )
    return rounded_handle(*given)


def are_handles(value: object) -> TypeGuard[Handles]:
    """Return whether `value` is a tuple of at most MOST_HANDLES valid handles."""
    return (
        isinstance(value, tuple)
        and len(value) <= MOST_HANDLES
        and all(isinstance(each, Handle) and each.valid for each in value)
    )


def nearest_handle(handles: Handles, x: float, y: float, shape: float) -> int:
    """Return the number of the handle nearest to a place; `shape` is width divided by height."""
    apart = [((each.x - x) * shape) ** 2 + (each.y - y) ** 2 for each in handles]
    return apart.index(min(apart))
