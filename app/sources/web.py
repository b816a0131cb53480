"""Asks a web server, within a deadline and a number of bytes."""

from __future__ import annotations

import http.client
import io
import socket
import urllib.request
from functools import partial
from typing import IO, Any

from app.sources.deadline import Deadline

MOST = 64 << 20  # bytes of one picture; beyond it this is no stream of pictures
OVERHEAD = 1 << 20  # bytes around it: headers, chunk sizes, what was read ahead


class Answer(http.client.HTTPResponse):
    """An answer whose every byte counts, those of headers and chunk sizes too.

    Reading raises TimeoutError past the deadline, or where nothing comes for `pause` seconds,
    and ValueError beyond MOST bytes and OVERHEAD.
    """

    def __init__(
        self, deadline: Deadline, pause: float, sock: socket.socket, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(sock, *args, **kwargs)
        self._wire = _Wire(sock, self.fp.detach(), deadline, pause)
        self.fp = io.BufferedReader(self._wire)

    def next_part(self) -> None:
        """Allow as many bytes again, and from now on as many seconds as it takes."""
        self._wire.deadline = None
        self._wire.left = MOST + OVERHEAD


class _Wire(io.RawIOBase):
    """The receiving end of `sock`, whose file is `raw`."""

    def __init__(
        self, sock: socket.socket, raw: io.RawIOBase, deadline: Deadline, pause: float
    ) -> None:
        self.deadline: Deadline | None = deadline
        self.left = MOST + OVERHEAD
        self._sock, self._raw, self._pause = sock, raw, pause

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        # Each wait is short, so that a server that sends a byte at a time meets the deadline.
        wait = self.deadline.within(self._pause) if self.deadline else self._pause
        self._sock.settimeout(wait)
        count = self._raw.readinto(buffer)
        self.left -= count or 0
        if self.left < 0:
            raise ValueError("too many bytes")
        return count

    def fileno(self) -> int:
        return self._raw.fileno()

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Web(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """HTTP and HTTPS with Answers."""

    def __init__(self, deadline: Deadline, pause: float) -> None:
        super().__init__()
        self._deadline, self._pause = deadline, pause

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(self._connection, http.client.HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(self._connection, http.client.HTTPSConnection), req)

    def _connection(
        self, kind: type[http.client.HTTPConnection], host: str, /, **_: object
    ) -> http.client.HTTPConnection:
        made = kind(host, timeout=self._deadline.within(self._pause))
        made.response_class = partial(Answer, self._deadline, self._pause)  # type: ignore[assignment]
        return made


class _Redirections(urllib.request.HTTPRedirectHandler):
    """Follows a redirection without reading what is sent with it."""

    def http_error_302(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
    ) -> Any:
        fp.close()
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def ask(url: str, user: str, password: str, deadline: Deadline, pause: float) -> Answer:
    """The answer to a GET, its body not yet read. Redirections and the login are seen to.

    Raises urllib.error.HTTPError for an answer that is a refusal, and OSError, ValueError or
    http.client.HTTPException where there is none.
    """
    logins = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    if user:
        logins.add_password(None, url, user, password)
    # Not build_opener, which also follows a redirection to FTP.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirections(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPBasicAuthHandler(logins),
        urllib.request.HTTPDigestAuthHandler(logins),
        _Web(deadline, pause),
    ):
        opener.add_handler(handler)
    return opener.open(url, timeout=pause)
