"""Takes the marks of mnemonics out of labels, for names that are read aloud."""

from __future__ import annotations

import re

# Scripts without letters have the key in parentheses at the end, before the dots and the colon.
_IN_PARENTHESES = re.compile(r"\s*\(&[^&]\)(?=(?:\.\.\.|[:\uff1a])?$)")
_MARK = re.compile(r"&(&?)")  # a single one stands before a key, two are one that is shown


def without_mnemonic(label: str) -> str:
    """Return a label as it reads: "Save" of "&Save", "保存" of "保存(&S)", "A & B" of "A && B"."""
    return _MARK.sub(r"\1", _IN_PARENTHESES.sub("", label))
