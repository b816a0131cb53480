"""Lists in one sentence, in the chosen language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from utils.translation.languages import LANGUAGES
from utils.translation.texts import chosen, tr


def listed(words: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"; "" for an empty list."""
    if len(words) < 2:
        return "".join(words)
    several = LANGUAGES[chosen()].signs.listing.join(words[:-1])
    return tr("{several} and {last}", several=several, last=words[-1])


def either(words: Sequence[str]) -> str:
    """Return "a", "a or b" or "a or b or c"; "" for an empty list."""
    return reduce(_or, words, "")


def _or(several: str, last: str) -> str:
    return tr("{several} or {last}", several=several, last=last) if several else last
