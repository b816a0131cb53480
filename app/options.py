"""Tables of the named options (network, strokes, upsampling), and the notation of a style mix.

Imports nothing slow, since `--help` reads it. Menus, flags and settings list these options; the
engine implements them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `title` is its name, `remark` describes in one line what it does."""

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
    "auto": Option("Automatic", "Lite if the full network is slower than 15 fps"),
    "full": Option("Full", "The network as published"),
    "lite": Option("Lite", "Narrower layers: faster, a little coarser"),
}

STROKES: dict[str, Stroke] = {
    "fine": Stroke("Fine", "Takes about twice as long", 1.5),
    "medium": Stroke("Medium", "As the style was trained", 1.0),
    "bold": Stroke("Bold", "Takes about a third of the time", 0.6),
}

UPSAMPLING: dict[str, Option] = {
    "guided": Option("Sharpen to frame", "Restores edges and fine detail from the frame"),
    "smooth": Option("Smooth", "Only scales the result up"),
}

DEFAULT_MIX_AMOUNT = 0.5  # share of the second style


def blend_label(first: str, second: str, amount: float) -> str:
    """Label of a mix: "Candy 60 %, Starry Night 40 %".

    Args:
        first: title of the first style.
        second: title of the second style.
        amount: share of the second style, 0 to 1.
    """
    share = round(100 * amount)
    return f"{first} {100 - share} %, {second} {share} %"


def parse_mix(text: str) -> tuple[str, float]:
    """Parse "starry_night:0.4" into ("starry_night", 0.4); without a number the share is one half.

    Raises:
        ValueError: `text` is anything else; the message is one sentence.
    """
    key, colon, number = text.partition(":")
    try:
        amount = float(number) if colon else DEFAULT_MIX_AMOUNT
    except ValueError:
        amount = -1.0
    if not key or not 0 <= amount <= 1:
        raise ValueError(f"a mix is a style and its share of 0 to 1, as in udnie:0.4, not '{text}'")
    return key, amount
