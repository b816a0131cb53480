"""Messages between the processes of a shared run and the process that gives out the work."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Begin:
    """Sent to a process: it shall begin `request`; tasks follow."""

    request: Any


@dataclass(frozen=True, slots=True)
class Task:
    """Sent to a process: items that it shall answer one by one."""

    items: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class End:
    """Sent to a process after the last task."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Sent to a process: it shall end soon, without further answers."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Sent by a process that can begin, with the value that `Crew.ready` returns for it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Take:
    """Sent by a process that wants one more task."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Sent by a process: the outcome of one item."""

    item: Hashable
    value: Any


@dataclass(frozen=True, slots=True)
class News:
    """Sent by a process to report its progress."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ended:
    """Sent by a process that answered all tasks of a request, or was stopped."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Sent by a process if the run cannot continue; the reason is one sentence."""

    text: str
