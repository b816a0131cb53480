"""The rows that Ray Data carries: what actors are given and what they say of it, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from app.commands.stylize.cluster.answers import PartAnswer, PictureAnswer
from app.commands.stylize.cluster.plain import of_plain, to_plain
from app.commands.stylize.jobs import Job
from app.export.film.parts.split import Part
from app.export.film.parts.work import LineCount, LineEnd

COLUMN = "json"
Batch = dict[str, NDArray[Any]]
Item = Job | Part
Answer = PictureAnswer | PartAnswer
Said = Answer | LineCount | LineEnd

_ITEMS = {"picture": Job, "part": Part}
_SAID = {"picture": PictureAnswer, "part": PartAnswer, "count": LineCount, "end": LineEnd}


def rows_of(items: Iterable[Item]) -> list[dict[str, str]]:
    """The rows of which actors are given batches."""
    return [{COLUMN: _text(_ITEMS, item)} for item in items]


def items_in(batch: Batch) -> list[Item]:
    """The items of a batch of `rows_of`. Raises ValueError where it is none."""
    return [cast(Item, _value(_ITEMS, text)) for text in batch[COLUMN]]


def batch_of(said: Sequence[Said]) -> Batch:
    """What an actor says, as a batch."""
    column = np.empty(len(said), object)
    column[:] = [_text(_SAID, each) for each in said]
    return {COLUMN: column}


def said_in(batch: Batch) -> list[Said]:
    """What an actor has said in a batch of `batch_of`. Raises ValueError where it is none."""
    return [cast(Said, _value(_SAID, text)) for text in batch[COLUMN]]


def _text(kinds: dict[str, type], value: object) -> str:
    """JSON in ASCII, so that names of files that are no text come through."""
    name = next(name for name, kind in kinds.items() if isinstance(value, kind))
    return json.dumps([name, to_plain(value)])


def _value(kinds: dict[str, type], text: Any) -> object:
    match json.loads(str(text)):
        case [str(name), plain] if name in kinds:
            return of_plain(kinds[name], plain)
        case other:
            raise ValueError(f"{other!r} is none of {', '.join(kinds)}")
