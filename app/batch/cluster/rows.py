"""Rows of Ray Data: the actors' tasks and messages as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from app.batch.cluster.plain import of_plain, to_plain
from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.export.film.parts.split import Part
from app.export.film.parts.work import LineCount, LineEnd, MadePart

COLUMN = "json"


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """The file of a part of a film; `made` is None if no frame of the part was readable."""

    item: Part
    made: MadePart | None


Batch = dict[str, NDArray[Any]]
Item = Job | Part
Said = Outcome | PartAnswer | LineCount | LineEnd

_ITEMS = {"picture": Job, "part": Part}
_SAID = {"picture": Outcome, "part": PartAnswer, "count": LineCount, "end": LineEnd}


def answered(said: Said) -> Item | None:
    """Return the item that a message answers; None if it reports progress."""
    if isinstance(said, Outcome):
        return said.job
    return said.item if isinstance(said, PartAnswer) else None


def rows_of(items: Iterable[Item]) -> list[dict[str, str]]:
    return [{COLUMN: _text(_ITEMS, item)} for item in items]


def items_in(batch: Batch) -> list[Item]:
    """Return the items of a batch of `rows_of`.

    Raises:
        ValueError: If `rows_of` did not make the batch.
    """
    return [cast(Item, _value(_ITEMS, text)) for text in batch[COLUMN]]


def batch_of(said: Sequence[Said]) -> Batch:
    column = np.empty(len(said), object)
    column[:] = [_text(_SAID, each) for each in said]
    return {COLUMN: column}


def said_in(batch: Batch) -> list[Said]:
    """Return an actor's messages in a batch of `batch_of`.

    Raises:
        ValueError: If `batch_of` did not make the batch.
    """
    return [cast(Said, _value(_SAID, text)) for text in batch[COLUMN]]


def _text(kinds: dict[str, type], value: object) -> str:
    """Format as ASCII JSON, so that file names that are not valid text survive."""
    name = next(name for name, kind in kinds.items() if isinstance(value, kind))
    return json.dumps([name, to_plain(value)])


def _value(kinds: dict[str, type], text: Any) -> object:
    match json.loads(str(text)):
        case [str(name), plain] if name in kinds:
            return of_plain(kinds[name], plain)
        case other:
            raise ValueError(f"{other!r} is not one of {', '.join(kinds)}")
