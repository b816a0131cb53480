"""What a process that shares a run and the one that gives it work say to each other."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Begin:
    """To a process: begin what `request` describes; tasks follow."""

    request: Any


@dataclass(frozen=True, slots=True)
class Task:
    """To a process: items that are to be answered one by one."""

    items: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class End:
    """To a process: no task follows."""


@dataclass(frozen=True, slots=True)
class Stop:
    """To a process: end soon, and answer nothing more."""


@dataclass(frozen=True, slots=True)
class Ready:
    """From a process: it can begin."""

    value: Any


@dataclass(frozen=True, slots=True)
class Take:
    """From a process: it wants one more task."""


@dataclass(frozen=True, slots=True)
class Answer:
    """From a process: what became of an item."""

    item: Hashable
    value: Any


@dataclass(frozen=True, slots=True)
class News:
    """From a process: how far it is."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ended:
    """From a process: all tasks are answered, or it was stopped."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """From a process: the run cannot go on, and why, as a sentence."""

    text: str
