"""A file on a web server, read by range requests (RFC 9110, section 14)."""

from __future__ import annotations

import io
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from models.training.download.errors import NoRangesError
from utils.translation.numbers import number
from utils.translation.texts import tr

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TIMEOUT_S = 30.0  # without a byte from the server
CHUNK_BYTES = 1 << 16
PARTIAL, PRECONDITION_FAILED = 206, 412  # HTTP status codes
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class _Answer(Protocol):
    """The result of `urlopen`."""

    status: int
    url: str
    headers: dict[str, str]

    def read(self, count: int) -> bytes: ...


class RemoteFile(io.RawIOBase):
    """A reader of ranges of a file, all of the same version of it.

    Each read is one request; wrap it in io.BufferedReader to read small pieces. It receives at most
    `limit` bytes in total, and calls `on_received` with the bytes so far after every chunk.
    """

    def __init__(
        self, address: str, limit: int, on_received: Callable[[int], None] = lambda done: None
    ) -> None:
        super().__init__()
        self._address, self._limit, self._on_received = address, limit, on_received
        self._position = 0
        self._size: int | None = None
        self._version = ""  # the server's name for the version
        self.received = 0

    @property
    def size(self) -> int:
        """The size of the whole file in bytes; known after the first read."""
        if self._size is None:
            raise OSError("nothing was read yet")
        return self._size

    @property
    def version(self) -> str:
        """The entity tag, or else the date, that the server sends for the file."""
        return self._version

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position of the next read, without a request."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size or 0}[whence]
        if start + offset < 0:
            raise ValueError("a position before the file")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer from the position on, or up to the end; return the number of bytes.

        Raises:
            NoRangesError: If the server sends no ranges, or does not identify the version.
            OSError: If the connection failed, the file has changed, or `limit` is exceeded.
        """
        view = memoryview(buffer).cast("B")
        count = len(view)
        if self._size is not None:
            count = min(count, self._size - self._position)
        if count <= 0:
            return 0
        if self.received + count > self._limit:
            raise OSError(tr("more than {n} bytes would have to be read", n=number(self._limit)))
        done = self._request(view[:count])
        self._position += done
        return done

    def _request(self, view: memoryview) -> int:
        last = self._position + len(view) - 1
        headers = {"Range": f"bytes={self._position}-{last}", "Accept-Encoding": "identity"}
        if self._version.startswith('"'):  # a strong entity tag
            headers["If-Match"] = self._version
        request = urllib.request.Request(self._address, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                length = self._check(answer, last)
                return self._receive(answer, view[:length])
        except urllib.error.HTTPError as exc:
            exc.close()
            if exc.code == PRECONDITION_FAILED:
                raise OSError(tr("the file was changed on the server meanwhile")) from exc
            raise

    def _check(self, answer: _Answer, last: int) -> int:
        """Check that the answer is the requested range of the same version; return its length."""
        if urlsplit(answer.url).scheme != urlsplit(self._address).scheme:
            raise OSError(tr("the server redirects to another kind of address"))
        if answer.status != PARTIAL:
            raise NoRangesError(tr("the server cannot send parts of a file"))
        found = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if found is None:
            raise NoRangesError(tr("the server does not say which part of the file it sends"))
        start, end, size = (int(number) for number in found.groups())
        version = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        if not version:
            raise NoRangesError(tr("the server does not say which version of the file it sends"))
        if self._size is None:
            self._size, self._version = size, version
        if (size, version) != (self._size, self._version):
            raise OSError(tr("the file was changed on the server meanwhile"))
        if start != self._position or end != min(last, size - 1):
            raise OSError(tr("the server sent a different part of the file than requested"))
        return end - start + 1

    def _receive(self, answer: _Answer, view: memoryview) -> int:
        done = 0
        while done < len(view):
            chunk = answer.read(min(CHUNK_BYTES, len(view) - done))
            if not chunk:
                raise OSError(tr("the connection was lost"))
            view[done : done + len(chunk)] = chunk
            done += len(chunk)
            self.received += len(chunk)
            self._on_received(self.received)
        return done
