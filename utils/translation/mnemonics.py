"""Removes mnemonics from labels, for names that are read aloud."""

from __future__ import annotations

import re

# Scripts without letters have the key in parentheses at the end, before the dots and the colon.
_IN_PARENTHESES = re.compile(r"\s*\(&[^&]\)(?=(?:\.\.\.|[:\uff1a])?$)")
_MARK = re.compile(r"&(&?)")  # a single one precedes a key, a double one is a visible ampersand


def without_mnemonic(label: str) -> str:
    """Return a label as it reads: "&Save" as "Save", "保存(&S)" as "保存", "A && B" as "A & B"."""
    return _MARK.sub(r"\1", _IN_PARENTHESES.sub("", label))
