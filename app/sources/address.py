"""Network cameras: MJPEG and snapshots over HTTP, RTSP, and videos at an address."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
import urllib.error
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError
from app.frame import Frame, FrameSource, SourceInfo
from app.sources.deadline import Deadline, open_with_deadline
from app.sources.grabber import Feed, FeedLost, Grabber, timeout_error
from app.sources.opencv_frames import as_rgb, retrieve_rgb
from app.sources.video import open_film
from app.sources.video_decoder import VideoReader
from app.sources.web import MAX_PART_BYTES, LimitedResponse, http_get
from utils.opencv import MAX_PIXELS, cv2
from utils.text import printable
from utils.translation.numbers import significant
from utils.translation.texts import tr

SCHEMES = ("http", "https", "rtsp", "rtsps")
TIMEOUT_S = 5.0  # to connect, and between two pieces of data
OPEN_TIMEOUT_S = 15.0  # for connection, login and first picture together
TIMEOUTS = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, 5000, cv2.CAP_PROP_READ_TIMEOUT_MSEC, 5000]
SNAPSHOT_INTERVAL_S = 0.1  # interval between requests; few cameras are faster
RATE_FRAMES = 20
MAX_REASON_LENGTH = 80  # characters of a server's reason phrase
SAFE_CHARACTERS = "/?%:@!$&'()*+,;=~[]"  # not escaped in a path or query
RTSP_PORTS = {"rtsp": 554, "rtsps": 322}


@dataclass(frozen=True, slots=True)
class Address:
    """An address with a separate login; only `title` may appear in a message."""

    url: str  # without the login
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, spec: str) -> Address:
        """Parse an address.

        Raises:
            StyleForgeError: If the scheme, host or port is invalid.
        """
        try:
            parts = urlsplit(spec)
            port = f":{parts.port}" if parts.port is not None else ""
            path, query = (quote(part, SAFE_CHARACTERS) for part in (parts.path, parts.query))
        except ValueError:  # also raised for a lone surrogate
            raise StyleForgeError(tr("the address is not valid: check its host and port")) from None
        if parts.scheme not in SCHEMES or not parts.hostname or parts.hostname.isspace():
            raise StyleForgeError(
                tr(
                    "the address is not valid: it must look like http://host/path or "
                    "rtsp://host/path"
                )
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        url = urlunsplit((parts.scheme, host + port, path, query, ""))
        return cls(url, unquote(parts.username or ""), unquote(parts.password or ""))

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def title(self) -> str:
        """Host and path, without the query, in which some cameras expect the password."""
        return printable(f"{self.parts.netloc}{self.parts.path}".rstrip("/"))

    @property
    def name(self) -> str:
        """The address as the subject of a message: "the stream camera.local/video"."""
        return tr("the stream {address}", address=self.title)

    @property
    def with_login(self) -> str:
        """The URL with its login, for FFmpeg, which has no other way to receive one."""
        if not self.user:
            return self.url
        login = f"{quote(self.user, '')}:{quote(self.password, '')}"
        return urlunsplit(self.parts._replace(netloc=f"{login}@{self.parts.netloc}"))


def is_address(spec: str) -> bool:
    return spec.lower().startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def with_scheme(typed: str) -> str:
    """Complete an address typed by hand: "camera.local/video" becomes an http:// address."""
    scheme, _, rest = typed.strip().partition(":")
    if scheme.lower() in SCHEMES:
        return f"{scheme}://{rest.lstrip('/')}"
    return typed if "://" in typed else f"http://{typed}"


def open_address(spec: str) -> FrameSource:
    """Open a network camera, or a video at an address, within OPEN_TIMEOUT_S.

    Raises:
        StyleForgeError: If the address cannot be opened.
    """
    address = Address.parse(spec.strip())
    deadline = Deadline(OPEN_TIMEOUT_S)

    def work() -> FrameSource:
        feed = connect(address, deadline)
        if isinstance(feed, CaptureFeed) and feed.finite:
            feed.close()
            return open_film(VideoReader(address.with_login, address.title))
        return Stream(address, feed, deadline)

    try:
        return open_with_deadline(work, deadline)
    except TimeoutError:
        raise timeout_error(address.name, deadline) from None


class Stream(FrameSource):
    """A live stream that uses `feed` first, and reconnects when it is lost.

    Raises:
        StyleForgeError: If there is no picture by the deadline.
    """

    kind = "network camera"

    def __init__(self, address: Address, feed: Feed, deadline: Deadline) -> None:
        made = iter([feed])

        def connected() -> Feed:
            return next(made, None) or connect(address, Deadline(OPEN_TIMEOUT_S))

        self._grabber = Grabber(connected, address.name, tr("trying again"))
        first = self._grabber.open(deadline)
        self.info = SourceInfo(address.title, first.width, first.height)

    def read(self, timeout: float = 0.02) -> Frame | None:
        frame = self._grabber.read(timeout)
        if frame is not None:
            size = (frame.width, frame.height)
            if size != (self.info.width, self.info.height):
                self.info = replace(self.info, width=frame.width, height=frame.height)
            if not self.info.fps and frame.index >= RATE_FRAMES:
                self.info = replace(self.info, fps=self._grabber.fps)
        return frame

    def close(self) -> None:
        self._grabber.close()

    @property
    def status(self) -> str:
        return self._grabber.status

    @property
    def dropped(self) -> int:
        return self._grabber.dropped

    def pause(self, paused: bool) -> None:
        """Pause or resume; the connection stays open."""
        self._grabber.pause(paused)


def connect(address: Address, deadline: Deadline) -> Feed:
    """Open the feed that matches the server's response.

    Raises:
        FeedLost: If the server cannot be reached or its response is not usable.
    """
    if address.parts.scheme in RTSP_PORTS:
        _check_port(address)
        return CaptureFeed(address, _open_capture(address))
    response = _request(address, deadline)
    kind = response.headers.get_content_type()
    if kind.startswith("multipart/"):
        return MultipartFeed(address, response)
    response.close()
    if kind.startswith("image/"):
        return SnapshotFeed(address)
    if kind == "text/html":  # a restarting camera often answers with its login page
        raise FeedLost(tr("{source} is a web page, not a stream", source=address.name))
    return CaptureFeed(address, _open_capture(address))


class MultipartFeed:
    """MJPEG over HTTP: an endless multipart response with one JPEG per part (RFC 2046)."""

    def __init__(self, address: Address, response: LimitedResponse) -> None:
        self._address = address
        self._response = response
        boundary = str(response.headers.get_param("boundary", ""))
        self._boundary = boundary.strip("-").encode()
        self._at_boundary = False
        self._jpeg = b""

    def grab(self) -> None:
        """Wait for the next part.

        Raises:
            FeedLost: If the connection is lost, or the server does not send MJPEG.
        """
        try:
            self._jpeg = self._read_part()
        except (OSError, EOFError, ValueError, OverflowError, http.client.HTTPException) as exc:
            raise _feed_lost(self._address, exc) from exc

    def decode(self) -> NDArray[np.uint8] | None:
        return _decode(self._address, self._jpeg)

    def interrupt(self) -> None:
        """Shut down the connection, so that the waiting thread reads its end."""
        reader = self._response.fp
        if reader is None:  # http.client closes the response once its end was read
            return
        try:
            with socket.fromfd(reader.fileno(), socket.AF_INET, socket.SOCK_STREAM) as end:
                end.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):  # the connection is already closed
            return

    def close(self) -> None:
        self._response.close()

    def _read_part(self) -> bytes:
        self._response.next_part()
        while not self._at_boundary:
            self._at_boundary = self._is_boundary(self._read_line())
        self._at_boundary = False
        length = http.client.parse_headers(self._response).get("Content-Length")
        if length is None:
            return self._read_until_boundary()
        size = int(length)
        if not 0 <= size <= MAX_PART_BYTES:
            raise ValueError("a part of no possible length")
        part = self._response.read(size)
        if len(part) < size:
            raise EOFError
        return part

    def _read_until_boundary(self) -> bytes:
        part = bytearray()
        while not self._is_boundary(line := self._read_line()):
            part += line
        self._at_boundary = True
        return bytes(part)

    def _read_line(self) -> bytes:
        line = self._response.readline(1 << 16)
        if not line:
            raise EOFError
        return line

    def _is_boundary(self, line: bytes) -> bool:
        # For some cameras, the two dashes in front are a part of the boundary, for some not.
        return line.startswith(b"--") and line.strip(b"-\r\n") == self._boundary


class SnapshotFeed:
    """A camera that answers each request with one picture."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._closed = threading.Event()
        self._due = 0.0
        self._picture = b""

    def grab(self) -> None:
        """Request the next picture when it is due.

        Raises:
            FeedLost: If the request fails.
        """
        self._closed.wait(max(self._due - time.perf_counter(), 0.0))
        self._due = time.perf_counter() + SNAPSHOT_INTERVAL_S
        with _request(self._address, Deadline(OPEN_TIMEOUT_S)) as response:
            try:
                self._picture = response.read(MAX_PART_BYTES)
            except (OSError, ValueError, http.client.HTTPException) as exc:
                raise _feed_lost(self._address, exc) from exc

    def decode(self) -> NDArray[np.uint8] | None:
        return _decode(self._address, self._picture)

    def interrupt(self) -> None:
        self._closed.set()

    def close(self) -> None:
        """End the wait for the next request; no connection stays open."""
        self._closed.set()


class CaptureFeed:
    """A live stream that FFmpeg can play: RTSP, HLS, MPEG-TS."""

    def __init__(self, address: Address, capture: cv2.VideoCapture) -> None:
        self._address = address
        self._capture = capture

    @property
    def finite(self) -> bool:
        """Whether it is a video with a last frame; RTSP always counts as live."""
        live = self._address.parts.scheme in RTSP_PORTS
        return not live and self._capture.get(cv2.CAP_PROP_FRAME_COUNT) > 0

    def grab(self) -> None:
        """Wait for the next frame.

        Raises:
            FeedLost: If the stream stopped.
        """
        if not self._capture.grab():
            raise FeedLost(tr("{source} stopped sending", source=self._address.name))

    def decode(self) -> NDArray[np.uint8] | None:
        return retrieve_rgb(self._capture)

    def interrupt(self) -> None:
        """Do nothing: FFmpeg cannot be interrupted, but has its own timeout."""

    def close(self) -> None:
        self._capture.release()


def _request(address: Address, deadline: Deadline) -> LimitedResponse:
    """Send a GET request, without reading the body.

    Raises:
        FeedLost: If the server refuses the request or is unreachable.
    """
    try:
        return http_get(address.url, address.user, address.password, deadline, TIMEOUT_S)
    except urllib.error.HTTPError as exc:
        exc.close()
        if exc.code in (401, 403):
            named = {"source": address.name, "code": exc.code}
            if address.user:
                raise FeedLost(tr("{source} refused the login ({code})", **named)) from None
            raise FeedLost(tr("{source} requires a login ({code})", **named)) from None
        answer = printable(f"{exc.code} {exc.reason}".strip(), MAX_REASON_LENGTH)
        raise FeedLost(
            tr("{source} answered {answer}", source=address.name, answer=answer)
        ) from None
    except (OSError, ValueError, http.client.HTTPException) as exc:
        if not deadline.remaining:
            raise timeout_error(address.name, deadline) from None
        if isinstance(exc, urllib.error.URLError) and isinstance(exc.reason, OSError):
            exc = exc.reason
        raise FeedLost(_connection_fault(address, exc)) from None


def _check_port(address: Address) -> None:
    """Check that the port accepts connections: FFmpeg reports this like a wrong path."""
    parts = address.parts
    door = (parts.hostname or "", parts.port or RTSP_PORTS[parts.scheme])
    try:
        socket.create_connection(door, TIMEOUT_S).close()
    except OSError as exc:
        raise FeedLost(_connection_fault(address, exc)) from None


def _open_capture(address: Address) -> cv2.VideoCapture:
    capture = cv2.VideoCapture(address.with_login, cv2.CAP_FFMPEG, TIMEOUTS)
    if not capture.isOpened():
        capture.release()
        raise FeedLost(
            tr(
                "{source} cannot be played: it is not a stream, or requires a login",
                source=address.name,
            )
        )
    size = capture.get(cv2.CAP_PROP_FRAME_WIDTH), capture.get(cv2.CAP_PROP_FRAME_HEIGHT)
    if size[0] * size[1] > MAX_PIXELS:
        capture.release()
        raise _too_large(address)
    return capture


def _connection_fault(address: Address, exc: Exception) -> str:
    named = {"source": address.name}
    if isinstance(exc, ConnectionRefusedError):
        return tr("{source} refused the connection", **named)
    if isinstance(exc, socket.gaierror):
        return tr("the host '{host}' is unknown", host=printable(address.parts.hostname or ""))
    if isinstance(exc, TimeoutError):
        return tr("{source} did not answer within {n} s", n=significant(TIMEOUT_S, 6), **named)
    if isinstance(exc, ssl.SSLError):
        return tr(
            "{source} has no trusted certificate ({reason})",
            reason=exc.reason,
            **named,
        )
    if isinstance(exc, OSError) and exc.strerror:
        return tr("{source} cannot be reached: {error}", error=exc.strerror, **named)
    return tr("{source} did not send an HTTP response", **named)


def _feed_lost(address: Address, exc: Exception) -> FeedLost:
    if isinstance(exc, TimeoutError):
        return FeedLost(tr("{source} stopped sending", source=address.name))
    if isinstance(exc, ValueError):
        return FeedLost(tr("{source} sends data that is not MJPEG", source=address.name))
    return FeedLost(tr("the connection to {source} was lost", source=address.name))


def _too_large(address: Address) -> FeedLost:
    most = MAX_PIXELS // 1_000_000
    return FeedLost(
        tr("{source} sends pictures of more than {n} megapixels", source=address.name, n=most)
    )


def _decode(address: Address, picture: bytes) -> NDArray[np.uint8] | None:
    if not picture:
        return None
    try:
        return as_rgb(cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR))
    except cv2.error as exc:  # for an image header with an impossible size
        if "MAX_IMAGE_PIXELS" in exc.err:
            raise _too_large(address) from None
        return None
