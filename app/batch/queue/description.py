"""Descriptions of jobs for display, parsed from their arguments, which stay unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.options import MOST_MIXED, percentages
from utils.images.moving import FILM_ENDINGS, likely_kind
from utils.translation.texts import trn


class Kind(StrEnum):
    """The kind of a job's inputs."""

    PICTURE = "picture"
    FILM = "film"
    FOLDER = "folder"
    SEVERAL = "several"  # or a pattern, which is expanded when the job runs


@dataclass(frozen=True, slots=True)
class Description:
    """A job's inputs, output and styles.

    Attributes:
        inputs: Absolute files, folders and patterns.
        output: Absolute file or folder of the results.
        styles: Style keys, or file names of style pictures without their endings, with shares in
            percent; 0 if a share is not specified.
        left_out: Absolute folders that are not searched for inputs.
    """

    kind: Kind
    inputs: tuple[str, ...]
    output: str
    styles: tuple[tuple[str, int], ...]
    left_out: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name of the first input, and the number of further inputs."""
        if not self.inputs:
            return ""
        name = Path(self.inputs[0]).name or self.inputs[0]
        more = len(self.inputs) - 1
        return trn("{name} and {n} more", "{name} and {n} more", more, name=name) if more else name


def described(words: Sequence[str]) -> Description:
    """Describe a job, even another version's, by "--flag=value" words, then "--" and the inputs."""
    inputs = inputs_of(words)
    flags = words[: len(words) - len(inputs)]
    output = next(iter(_values(flags, "output")), "")
    left_out = tuple(_values(flags, "leave-out"))
    return Description(kind_of(inputs), inputs, output, _styles(flags), left_out)


def inputs_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the inputs of a job: the arguments after "--"."""
    return tuple(words[words.index("--") + 1 :]) if "--" in words else ()


def kind_of(inputs: Sequence[str]) -> Kind:
    """Return the kind of the inputs by number, type and names; else their first bytes decide."""
    if len(inputs) != 1:
        return Kind.SEVERAL
    path = Path(inputs[0])
    if path.is_dir():
        return Kind.FOLDER
    if any(sign in inputs[0] for sign in "*?[") and not path.exists():
        return Kind.SEVERAL
    film = path.suffix.lower() in FILM_ENDINGS or likely_kind(path) == "film"
    return Kind.FILM if film else Kind.PICTURE


def _styles(flags: Sequence[str]) -> tuple[tuple[str, int], ...]:
    first = [(key, "") for key in _values(flags, "style")]
    pictures = [_shared(text) for text in _values(flags, "style-image")]
    parts = [*first, *((Path(name).stem, share) for name, share in pictures)]
    parts += [_shared(text) for text in _values(flags, "mix")]
    if len(parts) < 2 or len(parts) > MOST_MIXED:
        return tuple((name, 0) for name, _ in parts)
    given = [float(share) if share else None for _, share in parts]
    left = max(0.0, 1 - sum(share for share in given if share is not None))
    equal = left / max(1, given.count(None))
    percents = percentages([equal if share is None else share for share in given])
    return tuple((name, percent) for (name, _), percent in zip(parts, percents, strict=True))


def _shared(text: str) -> tuple[str, str]:
    """Split a style's name from its share, as in `--mix udnie:0.4`; a missing share is ""."""
    name, colon, share = text.rpartition(":")
    try:
        fits = 0 <= float(share) <= 1
    except ValueError:
        fits = False
    return (name, share) if colon and name and fits else (text, "")


def _values(flags: Sequence[str], name: str) -> list[str]:
    start = f"--{name}="
    return [word.removeprefix(start) for word in flags if word.startswith(start)]
