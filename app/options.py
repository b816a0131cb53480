"""Tables of the named options, and the notation of a style mix.

This module imports nothing slow, since `--help` reads it. Menus, flags and settings list these
options; the engine implements them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from utils.stroke_directions import FOLLOW, HALF_TURN, HAND, SWIRL


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `title` is its name, `remark` describes its effect in one line."""

    title: str
    remark: str


STROKE_SIZE = 384  # long side of the network's input in pixels, for medium strokes


@dataclass(frozen=True, slots=True)
class Stroke(Option):
    """A stroke width. `scale` multiplies STROKE_SIZE, or a size set by hand.

    Strokes have a fixed width in the network's input, so a larger input makes them finer.
    """

    scale: float


NETWORKS: dict[str, Option] = {
    "auto": Option("Automatic", "Fast if fine is slower than 15 fps"),
    "full": Option("Fine", "The full network, as published"),
    "lite": Option("Fast", "The lite network: a little coarser"),
}

STROKES: dict[str, Stroke] = {
    "fine": Stroke("Fine", "Takes about twice as long", 1.5),
    "medium": Stroke("Medium", "As the style was trained", 1.0),
    "bold": Stroke("Bold", "Takes about a third of the time", 0.6),
}

AS_THEY_ARE, ONE_WAY = "none", "one"  # directions of strokes that no kernel combs
STROKE_DIRECTIONS: dict[str, Option] = {
    AS_THEY_ARE: Option("As they are", "Strokes as the style was trained"),
    FOLLOW: Option("Follow the picture", "Along the lines of the picture, as in a Van Gogh"),
    SWIRL: Option("Swirl", "In eddies"),
    ONE_WAY: Option("One direction", "At an angle, as rain falls"),
    HAND: Option("By hand", "As you drag across the picture"),
}
NAMED_DIRECTIONS = tuple(key for key in STROKE_DIRECTIONS if key != ONE_WAY)
DEFAULT_LENGTH = 0.5  # of strokes with a direction, 0 to 1
DEFAULT_ANGLE = 45.0  # degrees, counterclockwise from the horizontal

EVERYTHING, ONLY_PERSON, ONLY_BACKGROUND = "all", "person", "background"  # what is painted
PAINTED: dict[str, Option] = {
    EVERYTHING: Option("Everything", "The whole picture"),
    ONLY_PERSON: Option("Only me", "The background stays as it is"),
    ONLY_BACKGROUND: Option("Only the background", "People stay as they are"),
}

SCENE_AS_IT_IS, GREEN = "picture", "green"  # what is where nothing is painted
RESTS: dict[str, Option] = {
    SCENE_AS_IT_IS: Option("As it is", "The picture without paint"),
    GREEN: Option("Green", "For programs that replace green, as OBS does by Chroma Key"),
}

# PAINTED, if a mask that the user brushed chooses the part.
PAINTED_BY_MASK: dict[str, Option] = {
    EVERYTHING: PAINTED[EVERYTHING],
    ONLY_PERSON: Option("Only inside the mask", "The rest stays as it is"),
    ONLY_BACKGROUND: Option("Only outside the mask", "What you brushed stays as it is"),
}

UPSAMPLING: dict[str, Option] = {
    "guided": Option("Keep fine detail", "Restores edges and fine detail from the original"),
    "smooth": Option("Smooth", "Only scales the result up"),
}

CAMERA_FORMATS: dict[str, Option] = {
    "auto": Option("Automatic", "The format of the system's virtual camera, such as I420 on Linux"),
    "yuyv": Option("YUYV", "The format of most webcams; for programs that show nothing otherwise"),
    "uyvy": Option("UYVY", "The format of capture cards"),
    "nv12": Option("NV12", "The format of hardware encoders"),
    "gray": Option("Gray", "Black and white"),
}

CAMERA_FITS: dict[str, Option] = {
    "whole": Option("Whole picture", "With black bars if the shapes differ"),
    "fill": Option("Fill the frame", "Cuts the edges off if the shapes differ"),
}

CAMERA_SIZES = ("640x360", "640x480", "960x540", "1280x720", "1920x1080")
CAMERA_RATES = (10, 15, 24, 25, 30, 50, 60)  # pictures per second

DEFAULT_MIX_AMOUNT = 0.5  # share of the second style
MOST_MIXED = 4  # styles of one any-style network; at most two of single-style networks

Part = tuple[str, float]  # a style and its share of a mix, 0 to 1


def direction_of(value: object, keys: Collection[str]) -> float | str | None:
    """Return a direction of strokes; None if `value` is none.

    Args:
        value: One of `keys`, or an angle in degrees from 0 to less than HALF_TURN.
    """
    if isinstance(value, str):
        return value if value in keys else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < HALF_TURN else None


def painted_options(*, masked: bool, swapped: bool) -> dict[str, Option]:
    """Return what each value of `paint` does.

    Args:
        masked: Whether a mask that the user brushed chooses the part.
        swapped: Whether the two parts are swapped; people and background keep their names, since
            their network has named them the wrong way round.
    """
    if not masked:
        return PAINTED
    if not swapped:
        return PAINTED_BY_MASK
    within, around = PAINTED_BY_MASK[ONLY_PERSON], PAINTED_BY_MASK[ONLY_BACKGROUND]
    return {**PAINTED_BY_MASK, ONLY_PERSON: around, ONLY_BACKGROUND: within}


def percentages(shares: Sequence[float]) -> list[int]:
    """Round shares that add up to 1 to whole percents that add up to 100."""
    # If shares are equal, the first gets the larger percentage.
    exact = [round(100 * share, 6) for share in shares]
    whole = [math.floor(percent) for percent in exact]
    by_loss = sorted(range(len(exact)), key=lambda n: whole[n] - exact[n])
    for n in by_loss[: 100 - sum(whole)]:
        whole[n] += 1
    return whole


def blend_label(parts: Sequence[Part]) -> str:
    """Return a mix's label "Candy 60 %, Starry Night 40 %", or one title; shares add up to 1."""
    if len(parts) == 1:
        return parts[0][0]
    shares = percentages([share for _, share in parts])
    return ", ".join(f"{title} {share} %" for (title, _), share in zip(parts, shares, strict=True))


def parse_mix(text: str) -> tuple[str, float | None]:
    """Parse "starry_night:0.4" into ("starry_night", 0.4); without a number, the share is None.

    Raises:
        ValueError: If `text` has another form. The message is one sentence.
    """
    key, colon, number = text.partition(":")
    try:
        amount = float(number) if colon else None
    except ValueError:
        amount = -1.0
    if not key or not (amount is None or 0 <= amount <= 1):
        raise ValueError(f"a mix is a style and its share of 0 to 1, as in udnie:0.4, not '{text}'")
    return key, amount


def mixed_parts(first: str, others: Sequence[tuple[str, float | None]]) -> tuple[Part, ...]:
    """Return the styles of a mix with shares that add up to 1.

    The first style gets the rest; others without a share get as much as the first.

    Raises:
        ValueError: If there are too many styles, one appears twice, or the shares add up to more
            than 1; the message is one sentence.
    """
    keys = [first, *(key for key, _ in others)]
    if len(keys) > MOST_MIXED:
        raise ValueError(f"at most {MOST_MIXED} styles can be mixed, not {len(keys)}")
    if twice := next((key for n, key in enumerate(keys) if key in keys[:n] and n > 1), ""):
        raise ValueError(f"'{twice}' is in the mix twice")
    left = 1 - sum(share for _, share in others if share is not None)
    if left < -1e-6:
        raise ValueError(f"the shares of a mix add up to at most 1, not {1 - left:g}")
    equal = max(0.0, left) / (1 + sum(share is None for _, share in others))
    return ((first, equal), *((key, equal if share is None else share) for key, share in others))


def without(parts: Sequence[Part], key: str) -> tuple[Part, ...]:
    """Remove a style from a mix; the others keep their proportions."""
    kept = [part for part in parts if part[0] != key]
    total = sum(share for _, share in kept)
    return tuple((other, share / total if total else 1 / len(kept)) for other, share in kept)


def format_parts(parts: Sequence[Part]) -> str:
    """Write styles and their shares as lines, for the settings file."""
    return "\n".join(f"{key}:{share:.4f}" for key, share in parts)


def parse_parts(text: str) -> tuple[Part, ...]:
    """Read the output of `format_parts`; lines without a valid share from 0 to 1 are left out."""
    found: list[Part] = []
    for line in text.split("\n"):
        key, _, number = line.rpartition(":")
        try:
            share = float(number)
        except ValueError:
            continue
        if key and 0 <= share <= 1:
            found.append((key, share))
    return tuple(found)
