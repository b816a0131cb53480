"""Makes text from outside safe to show: on a terminal, in a message, on one line."""

import unicodedata

LIMIT = 300


def printable(text: str, limit: int = LIMIT) -> str:
    r"""`text` with everything that is neither visible nor a space written as an escape.

    Control characters, line breaks, terminal escape codes, characters that change the direction of
    text, other invisible ones, unassigned ones and lone surrogates become `\n`, `\x1b`, `\u202e`.
    What is longer than `limit` characters is cut and ends in "...".
    """
    # Cut before and after: escapes make it longer, and text from outside may be of any length.
    shown = "".join(map(_visible, text[: limit + 1]))
    return shown if len(shown) <= limit else shown[: max(limit - 3, 0)] + "..."


def _visible(char: str) -> str:
    # A space that is not the plain one is common in names that macOS gives to files.
    if char.isprintable() or unicodedata.category(char) == "Zs":
        return char
    return char.encode("unicode_escape").decode("ascii")
