"""Joins texts that are translated separately, with the punctuation of the chosen language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from utils.translation.languages import LANGUAGES, Signs
from utils.translation.texts import chosen, tr


def sentences(*texts: str) -> str:
    """Join sentences that are not empty: "Runs on the processor. Fast version of the style"."""
    return _signs().stop.join(filter(None, texts))


def clauses(texts: Iterable[str]) -> str:
    """Join parts of one sentence that are not empty: "Saved a.png; its colors were lost"."""
    return _signs().semicolon.join(filter(None, texts))


def enumerated(texts: Iterable[str]) -> str:
    """Join items that are not empty: "Camera, 640x480, 30 fps"."""
    return _signs().comma.join(filter(None, texts))


def labeled(label: str, text: str) -> str:
    """Return a text after its label, as in "License: CC BY 4.0"."""
    return f"{label}{_signs().colon}{text}"


def _signs() -> Signs:
    return LANGUAGES[chosen()].signs


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
