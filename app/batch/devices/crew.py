"""Processes that take work from one list: an idle process takes the next task."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from app.batch.devices.messages import (
    Answer,
    Begin,
    End,
    Ended,
    Failure,
    News,
    Ready,
    Stop,
    Take,
    Task,
)
from app.errors import StyleForgeError

PATIENCE_S = 20.0  # for processes that were asked to stop
GLANCE_S = 0.2  # between two checks whether to stop


class CrewError(StyleForgeError):
    """Raised if the processes cannot do the work."""


@dataclass(eq=False, slots=True)
class _Member:
    """A process, its device, and the items it has not answered yet."""

    device: str
    process: BaseProcess
    pipe: Connection
    wanted: int = 0
    busy: bool = False
    told_end: bool = False
    owed: dict[Hashable, None] = field(default_factory=dict)


class Crew:
    """A process for each device; if one dies, the others get its items. A context ends them.

    Args:
        target: The function each process runs, called with its end of a pipe and its setup.
        on_loss: Called with a sentence if a process dies and the others continue.
    """

    def __init__(
        self,
        devices: Sequence[str],
        target: Callable[[Connection, Any], None],
        setups: Sequence[Any],
        on_loss: Callable[[str], object],
    ) -> None:
        self._on_loss = on_loss
        self._members: list[_Member] = []
        self._waiting: deque[tuple[Hashable, ...]] = deque()  # returned by dead processes
        context = get_context("spawn")  # CUDA does not work in a forked process
        for device, setup in zip(devices, setups, strict=True):
            ours, theirs = context.Pipe()
            process = context.Process(target=target, args=(theirs, setup), name=f"stylize {device}")
            process.start()
            theirs.close()  # so that our end signals when the process is gone
            self._members.append(_Member(device, process, ours))

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            self._send(member, Stop())
        deadline = time.monotonic() + PATIENCE_S
        for member in self._members:
            member.pipe.close()  # a process that still writes to it gets an error
            member.process.join(max(0.0, deadline - time.monotonic()))
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.process.close()
        self._members.clear()

    def ready(self) -> list[Any]:
        """Wait until all processes can begin; return the value each sent, in the devices' order.

        Raises:
            CrewError: If a process cannot begin.
        """
        said = []
        for member in self._members:
            message = self._received(member)
            if message is None:
                raise CrewError(f"the process for {member.device} {_ending(member.process)}")
            assert isinstance(message, Ready)
            said.append(message.value)
        return said

    def run(
        self,
        request: Any,
        tasks: Iterable[tuple[Hashable, ...]],
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[Answer | News | Ended]:
        """Have the processes do tasks, and yield one Answer per item and any number of News.

        Args:
            tasks: Groups of items for one process each, consumed lazily.

        Raises:
            CrewError: If a process reports that the work is impossible, or all processes died.
        """
        coming = iter(tasks)
        while True:
            if not self._members:
                raise CrewError("the processes of all devices ended before the work did")
            for member in self._members:
                member.busy, member.told_end, member.wanted = True, False, 0
                self._send(member, Begin(request))
            while busy := [member for member in self._members if member.busy]:
                if stopped():
                    return
                self._hand_out(busy, coming)
                for member in self._talking(busy):
                    message = self._received(member)
                    if message is None:
                        self._bury(member)
                    elif isinstance(message, Take):
                        member.wanted += 1
                    else:
                        if isinstance(message, Answer):
                            del member.owed[message.item]
                        member.busy = member.busy and not isinstance(message, Ended)
                        yield message
            if not self._waiting:
                left = next(coming, None)
                if left is None:
                    return
                self._waiting.append(left)

    def stop(self) -> list[Any]:
        """Ask all processes to stop; return the final values of those that still send one."""
        said = []
        deadline = time.monotonic() + PATIENCE_S
        for member in self._members:
            self._send(member, Stop())
        for member in self._members:
            with suppress(OSError, EOFError):
                while member.busy and member.pipe.poll(max(0.0, deadline - time.monotonic())):
                    message = member.pipe.recv()
                    if isinstance(message, Ended):
                        said.append(message.value)
                        member.busy = False
        return said

    def _hand_out(self, busy: Sequence[_Member], coming: Iterator[tuple[Hashable, ...]]) -> None:
        for member in busy:
            while member.wanted and not member.told_end:
                task = self._waiting.popleft() if self._waiting else next(coming, None)
                if task is None:
                    member.told_end = True
                    self._send(member, End())
                else:
                    member.wanted -= 1
                    member.owed |= dict.fromkeys(task)
                    self._send(member, Task(task))

    def _talking(self, busy: Sequence[_Member]) -> list[_Member]:
        heard = connection.wait([member.pipe for member in busy], GLANCE_S)
        return [member for member in busy if member.pipe in heard]

    def _send(self, member: _Member, message: object) -> None:
        with suppress(OSError):  # it is gone; the next read reports it
            member.pipe.send(message)

    def _received(self, member: _Member) -> Any:
        """Return the next message of a process; None if it is gone."""
        try:
            message = member.pipe.recv()
        except (EOFError, OSError):
            return None
        if isinstance(message, Failure):
            raise CrewError(message.text)
        return message

    def _bury(self, member: _Member) -> None:
        """Give the unanswered items of a dead process to the others, one item at a time."""
        self._members.remove(member)
        member.pipe.close()
        member.process.join(PATIENCE_S)
        self._waiting.extend((item,) for item in member.owed)
        self._on_loss(
            f"the process for {member.device} {_ending(member.process)}; "
            f"{'the others go on' if self._members else 'none is left'}"
        )


def _ending(process: BaseProcess) -> str:
    process.join(PATIENCE_S)
    code = process.exitcode
    if code is not None and code < 0:
        return f"was ended by signal {-code}"
    return f"ended with status {code}"
