"""The transfer of the window's language to its processes, which else use English."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from utils.translation import numbers, texts
from utils.translation.languages import LANGUAGES

LANGUAGE, NUMBERS = "STYLEFORGE_LANGUAGE", "STYLEFORGE_NUMBERS"  # variables of the environment
# Two examples describe the number format, since a command's process has no Qt: some languages, such
# as Spanish, group the digits of the second one only.
_SHORT, _LONG = 1234.5, 1234567.8
# Matches the examples, but not with other digits or digit groups of another size.
_WRITTEN = re.compile(r"1(\D?)234\D5\|1(\D?)234(?:\2)567(\D)8")


def told() -> dict[str, str]:
    """Return the variables that pass the language and its number format to a process."""
    examples = f"{numbers.number(_SHORT, 1)}|{numbers.number(_LONG, 1)}"
    return {LANGUAGE: texts.chosen(), NUMBERS: examples}


def adopt(environment: Mapping[str, str] = os.environ) -> None:
    """Use the environment's language, or English if unknown; call it when a process starts."""
    language = environment.get(LANGUAGE, "")
    if language not in LANGUAGES:
        return
    texts.use(language)
    written = _WRITTEN.fullmatch(environment.get(NUMBERS, ""))
    if written is None:
        return
    short, group, point = written.groups()

    def write(value: float, decimals: int) -> str:
        whole, _, rest = f"{value:,.{decimals}f}".partition(".")
        sign = group if short or whole.count(",") > 1 or len(whole.lstrip("-")) > 5 else ""
        return whole.replace(",", sign) + (f"{point}{rest}" if rest else "")

    numbers.use(write)
