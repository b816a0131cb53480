"""A malicious or broken server costs neither memory nor patience."""

from __future__ import annotations

import re
import socket
import sys
import threading
from pathlib import Path
from urllib.error import URLError

import pytest

from app.errors import StyleForgeError
from app.sources import address, open_source, web
from app.sources.deadline import Deadline
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.helpers.fakes import NetworkCamera, no_thread_left, numbered, write_video
from tests.helpers.limited import limited
from tests.helpers.raw_server import sending
from utils.opencv import cv2

OK = b"HTTP/1.1 200 OK\r\n"
MULTIPART = b"Content-Type: multipart/x-mixed-replace; boundary=edge\r\n"
PART = b"--edge\r\nContent-Type: image/jpeg\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
ENDLESS = b"Content-Length: 9999999\r\n\r\n"
MUCH = bytes(1 << 20)
LITTLE_MB = 300  # two parts of 64 MB, the decoder's memory, and room for the allocator

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def opened_in_little_memory(url: str) -> str:
    said, megabytes = limited(
        "from app.sources import open_source", "open_source(sys.argv[1]).close()", url
    )
    assert megabytes < LITTLE_MB, f"{megabytes} MB; {said}"
    return said


def huge_jpeg() -> bytes:
    """Return a small JPEG whose header claims 20000x20000."""
    jpeg = cv2.imencode(".jpg", numbered(1))[1].tobytes()
    size = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:size] + (20000).to_bytes(2, "big") * 2 + jpeg[size + 4 :]


@needs_linux
@pytest.mark.parametrize(
    ("head", "again"),
    some_daily([
        (OK + MULTIPART + b"\r\n" + PART + b"Content-Length: -1\r\n\r\n", MUCH),
        (OK + MULTIPART + b"\r\n" + PART + b"Content-Length: 99999999999\r\n\r\n", MUCH),
        (OK + MULTIPART + b"\r\n" + PART + b"\r\n", MUCH),
        (OK + MULTIPART + b"\r\n", MUCH),
        (OK + MULTIPART + CHUNKED + b"\r\n-1\r\n" + PART + ENDLESS, MUCH),
        (OK + MULTIPART + CHUNKED + b"\r\n40\r\n" + PART + ENDLESS
         + b"12345678\r\n-1\r\n", MUCH),
        (OK + MULTIPART + CHUNKED + b"\r\n-8\r\n", MUCH),
        (OK + MULTIPART + CHUNKED + b"\r\nffffffffff\r\n" + PART + b"\r\n", MUCH),
        (OK + MULTIPART + CHUNKED + b"\r\n" + b"f" * 20 + b"\r\n" + PART + b"\r\n", MUCH),
    ], *(1, 2, 4)),
    ids=["negative length", "huge length", "no end", "no part", "negative chunk",
         "negative chunk inside", "negative chunk first", "huge chunk", "chunk no integer holds"],
)  # fmt: skip
def test_a_part_takes_no_more_memory_than_a_picture_may(head: bytes, again: bytes) -> None:
    with sending(head, again) as url:
        said = opened_in_little_memory(url)
    assert re.fullmatch(
        r"FeedLost: (the stream \S+ sends data that is not MJPEG"
        r"|the connection to the stream \S+ was lost)",
        said,
    )


@needs_linux
def test_what_is_sent_with_a_redirection_is_not_read() -> None:
    with sending(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n\r\n", MUCH) as url:
        assert "/live answered 302 " in opened_in_little_memory(url)


@needs_linux
@pytest.mark.parametrize("kind", ["part", "snapshot"])
def test_a_picture_that_is_too_large_is_refused_by_its_header(kind: str) -> None:
    jpeg = huge_jpeg()
    length = f"Content-Length: {len(jpeg)}\r\n\r\n".encode()
    head, again = OK + MULTIPART + b"\r\n", PART + length + jpeg + b"\r\n"
    if kind == "snapshot":
        head, again = OK + b"Content-Type: image/jpeg\r\n" + length + jpeg, b""
    with sending(head, again, 0.05) as url:
        said = opened_in_little_memory(url)
    assert mentions(said, "/live", "50 megapixels")


@pytest.mark.full
def test_a_film_that_is_too_large_is_refused_before_its_first_frame(tmp_path: Path) -> None:
    write_video(tmp_path / "film.avi", 1, size=(9000, 6000), codec="MJPG")
    with (
        no_thread_left(),
        NetworkCamera(files=tmp_path) as camera,
        pytest.raises(StyleForgeError, match="50 megapixels"),
    ):
        open_source(camera.url("film.avi"))


@pytest.mark.parametrize(
    ("head", "again"),
    some_daily(
        [
            (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            (b"", b"H"),
            (OK + MULTIPART + b"\r\n" + PART + b"X-Slow: ", b"a"),
            (OK + MULTIPART + b"\r\n" + PART + b"Content-Length: 1000\r\n\r\n", b"a"),
            (OK + b"Content-Type: image/jpeg\r\nContent-Length: 1000\r\n\r\n", b"a"),
        ],
        *(0, 4),
    ),
    ids=["header", "continue", "status", "part's header", "part", "snapshot"],
)
def test_one_deadline_holds_for_all_that_comes_slowly(
    monkeypatch: pytest.MonkeyPatch, head: bytes, again: bytes
) -> None:
    monkeypatch.setattr(address, "OPEN_TIMEOUT_S", 1.0)
    with (
        sending(head, again, 0.05) as url,
        no_thread_left(),
        pytest.raises(StyleForgeError, match="no picture within 1 s"),
    ):
        open_source(url)


@pytest.mark.parametrize("scheme", ["http", "rtsp"])
def test_the_deadline_holds_for_a_host_that_is_looked_up_for_ever(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    answered = threading.Event()

    def looked_up(*_: object, **__: object) -> None:
        answered.wait()
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(address, "OPEN_TIMEOUT_S", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with no_thread_left():
        with pytest.raises(StyleForgeError, match=r"cam\.invalid/live .*0.2 s"):
            open_source(f"{scheme}://cam.invalid/live")
        answered.set()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 503 \x1b[2J\x1b[31mbusy\x07\x9b\r\n\r\n", r"503 \x1b[2J\x1b[31mbusy\x07\x9b"),
        (b"HTTP/1.1 503 " + b"a" * 9000 + b"\r\n\r\n", "503 " + "a" * 73 + "..."),
    ],
)
def test_what_a_server_says_cannot_write_over_the_terminal(answer: bytes, said: str) -> None:
    with sending(answer) as url, pytest.raises(StyleForgeError) as caught:
        open_source(url)
    assert str(caught.value).endswith(f"/live answered {said}")


def test_a_redirection_leads_nowhere_but_to_the_web() -> None:
    with (
        sending(b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/a\r\n\r\n") as url,
        pytest.raises(StyleForgeError, match="HTTP response"),
    ):
        open_source(url)


def test_a_request_reads_no_file_of_this_machine(tmp_path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    with (
        sending(
            b"HTTP/1.1 302 Found\r\nLocation: " + secret.as_uri().encode() + b"\r\n\r\n"
        ) as url,
        pytest.raises(StyleForgeError, match="/live answered"),
    ):
        open_source(url)
    with pytest.raises(URLError, match="unknown url type: file"):
        web.http_get(secret.as_uri(), "", "", Deadline(5), 5)


def test_a_host_cannot_write_over_the_terminal() -> None:
    assert address.Address.parse("http://a\x07b\u202ec/d").title == r"a\x07b\u202ec/d"
