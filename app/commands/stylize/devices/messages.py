"""Messages between the processes of a shared run and the process that gives out the work."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Begin:
    """To a process: begin `request`; tasks follow."""

    request: Any


@dataclass(frozen=True, slots=True)
class Task:
    """To a process: items to answer one by one."""

    items: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class End:
    """To a process: no task follows."""


@dataclass(frozen=True, slots=True)
class Stop:
    """To a process: end soon, without further answers."""


@dataclass(frozen=True, slots=True)
class Ready:
    """From a process: it can begin."""

    value: Any


@dataclass(frozen=True, slots=True)
class Take:
    """From a process: it wants one more task."""


@dataclass(frozen=True, slots=True)
class Answer:
    """From a process: the outcome of an item."""

    item: Hashable
    value: Any


@dataclass(frozen=True, slots=True)
class News:
    """From a process: its progress."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ended:
    """From a process: all tasks are answered, or it was stopped."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """From a process: the run cannot continue; the reason as a sentence."""

    text: str
