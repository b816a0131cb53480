"""Names of results: the pattern of --name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from string import Formatter

from app.errors import MAX_MESSAGE_LENGTH
from utils.images.writing import SAVED
from utils.text import printable

# What a pattern may name, and an example of it.
FIELDS: Mapping[str, str | int] = {"stem": "photo", "suffix": ".jpg", "style": "candy", "number": 7}


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern such as "{stem}-{style}{suffix}", which was checked by `name_pattern`."""

    text: str

    def __str__(self) -> str:
        return self.text

    def name(self, relative: Path, style: str, number: int) -> Path:
        """Make the name of a result.

        Args:
            relative: The name that it would have without a pattern, in its subfolder.
            style: What stands for {style}.
            number: What stands for {number}, from 1.
        """
        ending = relative.suffix if relative.suffix.lower() in SAVED else ".png"
        values = {"stem": relative.stem, "suffix": ending, "style": style, "number": number}
        return relative.parent / self.text.format(**values)


def name_pattern(text: str) -> NamePattern:
    """Parse --name.

    Raises:
        argparse.ArgumentTypeError: No file could be called so, or a field is unknown.
    """
    try:
        fields = [field for field in Formatter().parse(text) if field[1] is not None]
    except ValueError as exc:  # a brace without its partner
        raise argparse.ArgumentTypeError(
            f"'{_shown(text)}' is no pattern of names: {_shown(str(exc))}"
        ) from exc
    for _, name, width, conversion in fields:
        plain = not width or (name == "number" and re.fullmatch(r"0?[1-9]", width))
        if name not in FIELDS or conversion or not plain:
            known = ", ".join(f"{{{name}}}" for name in FIELDS)
            raise argparse.ArgumentTypeError(
                f"'{_shown(text)}' may name only {known}, and of these the number with a width, as "
                "in {number:04}"
            )
    example = text.format(**FIELDS)
    path = PurePosixPath(example)
    if "\\" in text or ":" in example or path.is_absolute() or ".." in path.parts:
        raise argparse.ArgumentTypeError(
            f"'{_shown(text)}' leaves the folder of the results, or has a character that names "
            "of files may not have"
        )
    if path.suffix.lower() not in SAVED:
        raise argparse.ArgumentTypeError(
            f"'{_shown(text)}' must end in {{suffix}} or in {', '.join(SAVED)}"
        )
    return NamePattern(text)


def _shown(text: str) -> str:
    return printable(text, MAX_MESSAGE_LENGTH // 4)
