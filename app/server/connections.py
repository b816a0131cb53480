"""Limits on connections: their number, the time of a request, the time after an answer.

However many connections programs without the token open, requests with it find room.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_S = 10.0  # for the header of a request, from its first byte or the start of the connection
BODY_S = 65.0  # for the body after it, however slowly its bytes arrive
LINGER_S = 1.0  # for a client to read an answer sent before the end of its request
PROVE = "styleforge.prove"  # key in a request's state: function to call once the token was right
UNREAD = "styleforge.unread"  # another key: returns whether a part of the request is still to come
MOST = 1024  # connections; fewer if the system allows fewer files
ACCEPTED = 16  # consecutive connections before the server serves the others' data
QUEUE = 128  # connections that the system queues until the server accepts them
_OWN_FILES = 128  # descriptors reserved for everything else
_UNCOUNTED = 3 * ACCEPTED  # accepted but not counted yet, or just closed
_DEFAULT_FILES = 1024  # if the system does not tell

log = logging.getLogger("styleforge.server")


def most_connections() -> int:
    """Return how many connections the limit of open files allows, at most MOST."""
    files = _DEFAULT_FILES
    if sys.platform != "win32":
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = _DEFAULT_FILES if files == resource.RLIM_INFINITY else files
    return max(8, min(MOST, files - _OWN_FILES - _UNCOUNTED))


@dataclass(slots=True)
class Crowd:
    """The open connections, at most `most`; half of the room is for holders of the token.

    An excess connection displaces another one without the token: the oldest that has not finished a
    header, or else the oldest.
    """

    most: int
    _strangers: dict[Connection, None] = field(default_factory=dict)  # in order of arrival
    _friends: set[Connection] = field(default_factory=set)

    def join(self, connection: Connection) -> None:
        """Count a new connection, and close another one if there are too many."""
        self._strangers[connection] = None
        room = min(self.most // 2, self.most - len(self._friends))
        if len(self._strangers) > max(1, room):
            waiting = (each for each in self._strangers if each.awaits_header)
            self.leave(oldest := next(waiting, next(iter(self._strangers))))
            oldest.abort()

    def prove(self, connection: Connection) -> None:
        """Move a connection that has shown the token to those with reserved room."""
        if connection in self._strangers:
            del self._strangers[connection]
            self._friends.add(connection)

    def leave(self, connection: Connection) -> None:
        self._strangers.pop(connection, None)
        self._friends.discard(connection)


class _Transport:
    """A transport whose `close` calls `end`; everything else is the original transport's."""

    def __init__(self, transport: asyncio.Transport, end: Callable[[], None]) -> None:
        self._transport, self.close = transport, end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(H11Protocol):
    """A connection with deadlines for headers and bodies.

    It ends, and reads nothing more, after an answer sent before the end of its request. Such an
    answer must declare this (`Connection: close`), or the client would send another request into
    it.
    """

    def __init__(self, crowd: Crowd, app_state: dict[str, Any], **others: Any) -> None:
        state = {PROVE: lambda: crowd.prove(self), UNREAD: lambda: self._unread}
        super().__init__(app_state={**app_state, **state}, **others)
        self._crowd = crowd
        self._deadline: asyncio.TimerHandle | None = None
        self._owed: float | None = None  # HEADER_S, BODY_S, or None if the client owes nothing

    @property
    def awaits_header(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def _unread(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY

    def abort(self) -> None:
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio sets it only for sockets with TCP's protocol number; ours have 0.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._crowd.join(self)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        self._crowd.leave(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Begin the received request, whose answer ends the connection gently if it must end."""
        super().handle_events()
        if self.cycle is not None:
            self.cycle.transport = _Transport(self.transport, self._end)  # type: ignore[assignment]

    def on_response_complete(self) -> None:
        """Wait for the next request, if there can be one."""
        super().on_response_complete()
        if self.conn.trailing_data[0]:  # the next header has begun
            self._watch()
        if self._unread and not self.transport.is_closing():
            self.flow.pause_reading()
            self._unset_keepalive_if_required()

    def _end(self) -> None:
        """Close the connection so that a client that still sends can read the answer."""
        if not self._unread:
            self.transport.close()
            return
        # Closing it with unread bytes would reset it, and the client might miss the answer.
        try:
            self.transport.write_eof()
        except OSError:  # the client is gone
            self.transport.abort()
            return
        self.loop.call_later(LINGER_S, self.transport.abort)

    def _watch(self) -> None:
        if self.transport.is_closing():
            self._expect(None)
        elif self.awaits_header:
            self._expect(HEADER_S)
        else:
            self._expect(BODY_S if self.conn.their_state is h11.SEND_BODY else None)

    def _expect(self, seconds: float | None) -> None:
        """Set the deadline to `seconds` from now; None removes the deadline.

        A call with the same `seconds` changes nothing, so more bytes do not move the deadline.
        """
        if seconds == self._owed:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._owed, self._deadline = seconds, None
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)


class Server(uvicorn.Server):
    """A server that logs once, not thousands of times, that it cannot accept connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_Quiet())
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(QUEUE)  # asyncio has limited it to the backlog, ACCEPTED


class _Quiet:
    """An exception handler that logs only the first failed accept; passes on other faults."""

    def __init__(self) -> None:
        self._told = False

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        fault = context.get("exception")
        if isinstance(fault, OSError) and "accept" in str(context.get("message")):
            if not self._told:
                log.warning("the server cannot accept a connection: %s", fault.strerror)
            self._told = True
            return
        loop.default_exception_handler(context)


def connection_class(crowd: Crowd) -> Callable[..., Connection]:
    def make(**values: Any) -> Connection:
        return Connection(crowd, **values)

    return make
