"""What a mix of two styles is called, and how it is written on the command line."""

from __future__ import annotations

HALF = 0.5  # of each, where nothing else is said


def blend_label(first: str, second: str, amount: float) -> str:
    """ "Candy 60 %, Starry Night 40 %" of two titles and the share of the second (0-1)."""
    share = round(100 * amount)
    return f"{first} {100 - share} %, {second} {share} %"


def parse_mix(text: str) -> tuple[str, float]:
    """("starry_night", 0.4) of "starry_night:0.4"; without a number, half.

    Raises ValueError, one sentence, for anything else.
    """
    key, colon, number = text.partition(":")
    try:
        amount = float(number) if colon else HALF
    except ValueError:
        amount = -1.0
    if not key or not 0 <= amount <= 1:
        raise ValueError(f"a mix is a style and its share of 0 to 1, as in udnie:0.4, not '{text}'")
    return key, amount
