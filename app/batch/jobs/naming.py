"""Names of results, and patterns of names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from string import Formatter

from app.errors import MAX_MESSAGE_LENGTH
from app.export.film.codecs import CODECS, CONTAINERS
from utils.files.names import is_device
from utils.images.opening import picture_endings
from utils.images.writing import SAVED
from utils.text import printable

# The fields of a pattern, each with an example.
FIELDS: Mapping[str, str | int] = {"stem": "photo", "suffix": ".jpg", "style": "candy", "number": 7}


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern such as "{stem}-{style}{suffix}", validated by `name_pattern`."""

    text: str

    def __str__(self) -> str:
        return self.text

    def name(self, relative: Path, style: str, number: int, endings: Sequence[str]) -> Path:
        """Build the name of a result.

        Args:
            relative: Its name without a pattern, in its subfolder.
            number: Replaces {number}, from 1.
            endings: Endings of the possible formats, the usual one first.
        """
        ending = relative.suffix if relative.suffix.lower() in endings else endings[0]
        values = {"stem": relative.stem, "suffix": ending, "style": style, "number": number}
        return relative.parent / self.text.format(**values)


def name_pattern(text: str) -> NamePattern:
    """Parse a pattern. Raises ValueError for an invalid name or an unknown field."""
    try:
        fields = [field for field in Formatter().parse(text) if field[1] is not None]
    except ValueError as exc:  # an unmatched brace
        raise ValueError(
            f"'{_shown(text)}' is not a valid pattern of names: {_shown(str(exc))}"
        ) from exc
    for _, name, width, conversion in fields:
        plain = not width or (name == "number" and re.fullmatch(r"0?[1-9]", width))
        if name not in FIELDS or conversion or not plain:
            known = ", ".join(f"{{{name}}}" for name in FIELDS)
            raise ValueError(
                f"'{_shown(text)}' may contain only {known}; the number may have "
                "a width, as in {number:04}"
            )
    example = text.format(**FIELDS)
    path = PurePosixPath(example)
    if "\\" in text or ":" in example or path.is_absolute() or ".." in path.parts:
        raise ValueError(
            f"'{_shown(text)}' leads out of the folder of the results, or has a character that "
            "file names cannot have"
        )
    if reserved := next(filter(is_device, path.parts), None):
        raise ValueError(f"'{_shown(reserved)}' is the name of a device on Windows")
    endings = dict.fromkeys((*SAVED, *CONTAINERS))
    if path.suffix.lower() not in endings:
        raise ValueError(f"'{_shown(text)}' must end in {{suffix}} or in {', '.join(endings)}")
    return NamePattern(text)


def result_name(relative: Path, endings: Sequence[str]) -> Path:
    """Build a result's name; another format's ending stays ("x.tif.png", "walk.avi.mp4").

    Args:
        endings: Endings of the possible formats, the usual one first.
    """
    if relative.suffix.lower() in endings:
        return relative
    return relative.with_name(f"{relative.name}{endings[0]}")


def film_endings(codec: str | None, source: Path) -> tuple[str, ...]:
    """Return a film's endings, the usual one first; for an animation, WebP's is first.

    With `codec` None, these are the endings of any codec.
    """
    endings = tuple(CONTAINERS) if codec is None else CODECS[codec].containers
    first = ".webp" if source.suffix.lower() in picture_endings() else ""
    return tuple(sorted(endings, key=lambda ending: ending != first))


def _shown(text: str) -> str:
    return printable(text, MAX_MESSAGE_LENGTH // 4)
