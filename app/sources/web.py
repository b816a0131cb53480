"""HTTP requests with a deadline and a limit on the number of bytes."""

from __future__ import annotations

import http.client
import io
import socket
import urllib.request
from functools import partial
from typing import IO, Any

from app.sources.deadline import Deadline

# Limit in bytes of one picture; a larger body is not a stream of pictures.
MAX_PART_BYTES = 64 << 20
MAX_OVERHEAD_BYTES = 1 << 20  # bytes around it: headers, chunk sizes, read-ahead data


class LimitedResponse(http.client.HTTPResponse):
    """A response with limits on time and size that include headers and chunk sizes.

    Reading raises TimeoutError after the deadline, or if nothing arrives for `pause` seconds. It
    raises ValueError after MAX_PART_BYTES and MAX_OVERHEAD_BYTES.
    """

    def __init__(
        self, deadline: Deadline, pause: float, sock: socket.socket, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(sock, *args, **kwargs)
        self._wire = _LimitedSocketFile(sock, self.fp.detach(), deadline, pause)
        self.fp = io.BufferedReader(self._wire)

    def next_part(self) -> None:
        """Reset the number of bytes for the next part, and remove the deadline."""
        self._wire.deadline = None
        self._wire.left = MAX_PART_BYTES + MAX_OVERHEAD_BYTES


class _LimitedSocketFile(io.RawIOBase):
    """The receiving end of `sock`, with `raw` as its file, and the limits."""

    def __init__(
        self, sock: socket.socket, raw: io.RawIOBase, deadline: Deadline, pause: float
    ) -> None:
        self.deadline: Deadline | None = deadline
        self.left = MAX_PART_BYTES + MAX_OVERHEAD_BYTES
        self._sock, self._raw, self._pause = sock, raw, pause

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        # Each wait is limited, so that a server that sends single bytes cannot exceed the deadline.
        wait = self.deadline.limited(self._pause) if self.deadline else self._pause
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


class _LimitedHandler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
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
        made = kind(host, timeout=self._deadline.limited(self._pause))
        made.response_class = partial(LimitedResponse, self._deadline, self._pause)  # type: ignore[assignment]
        return made


class _RedirectHandler(urllib.request.HTTPRedirectHandler):
    """A handler that follows a redirect without reading its body."""

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


def http_get(
    url: str, user: str, password: str, deadline: Deadline, pause: float
) -> LimitedResponse:
    """Send a GET request, following redirects and logging in; the body is not read yet.

    Args:
        url: an http:// or https:// address without a login.
        user: for basic or digest authentication; empty for none.
        deadline: for the connection, the headers and the body.
        pause: the longest wait between two pieces of data, in seconds.

    Raises:
        urllib.error.HTTPError: If the server refused.
        OSError: If there is no connection.
        ValueError: If the response is invalid or too large.
        http.client.HTTPException: If the response is not HTTP.
    """
    logins = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    if user:
        logins.add_password(None, url, user, password)
    # build_opener would also follow a redirect to FTP.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _RedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPBasicAuthHandler(logins),
        urllib.request.HTTPDigestAuthHandler(logins),
        _LimitedHandler(deadline, pause),
    ):
        opener.add_handler(handler)
    return opener.open(url, timeout=pause)
