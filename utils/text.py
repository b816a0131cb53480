"""Escapes untrusted text, for a terminal or for a message of one line."""

import unicodedata

LIMIT = 300  # characters


def printable(text: str, limit: int = LIMIT) -> str:
    r"""Escape every character that is neither visible nor a space, as `\n`, `\x1b`, `\u202e`.

    These are control characters, line breaks, terminal escape codes, characters that change the
    direction of text, other invisible ones, unassigned ones and lone surrogates. Beyond `limit`
    characters, the result is cut and ends in "...".
    """
    # Cut before escaping, since the text may be very long, and after, since escapes lengthen it.
    shown = "".join(map(_visible, text[: limit + 1]))
    return shown if len(shown) <= limit else shown[: max(limit - 3, 0)] + "..."


def _visible(char: str) -> str:
    # File names from macOS may contain spaces other than U+0020.
    if char.isprintable() or unicodedata.category(char) == "Zs":
        return char
    return char.encode("unicode_escape").decode("ascii")


def capitalized(text: str) -> str:
    """Return a clause as a sentence: its first letter in upper case, the others unchanged."""
    return text[:1].upper() + text[1:]


def clock(seconds: int) -> str:
    """Format a time as "3:20", or "1:02:05" from an hour on."""
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
