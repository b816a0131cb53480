"""Checks whether the program's messages about bad input can be shown to a person."""

from __future__ import annotations

import unicodedata

from tests.fuzz.case import Broken

LONGEST = 500  # characters of a sentence; a message bar shows no more


def fault(sentence: str, named: str = "") -> str:
    """Return why `sentence` cannot be shown as the one line about `named`; "" if it can."""
    if not sentence.strip():
        return "it says nothing"
    if odd := sorted({char for char in sentence if not _visible(char)}):
        return f"it holds characters that cannot be shown: {', '.join(map(ascii, odd[:8]))}"
    if len(sentence) > LONGEST:
        return f"it has {len(sentence)} characters"
    if named not in sentence:
        return f"it does not name '{named}'"
    return ""


def _visible(char: str) -> bool:
    """Return whether a character is visible; file names often contain special spaces."""
    return char.isprintable() or unicodedata.category(char) == "Zs"


def check_shown(text: str) -> None:
    """Check that `text` in a window is one printable line, or empty.

    Raises:
        Broken: If it is not.
    """
    if text and (why := fault(text)):
        raise Broken(f"a text to be shown is not fit for it: {why}: {text[:300]!a}")
