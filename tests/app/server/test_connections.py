"""Connections without the token are limited in time and number, and others are still served."""

from __future__ import annotations

import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from app.server import connections, server
from tests.app.server.conftest import TOKEN, PaperPainter, Start, until
from tests.helpers.resource_limits import resource_limit
from tests.stress.crowded_server import ERRORS, crowd_of_halves, requests_beside, served

HALF = b"GET / HTTP/1.1\r\nHost: "


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.2)


def opened(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=20)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("begun", [b"", HALF])
def test_a_connection_without_a_whole_header_is_closed(begun: bytes, start: Start, paper):
    client = start(paper)
    with opened(client) as half:
        half.sendall(begun)
        assert _rest(half) == b""


@pytest.mark.usefixtures("hasty")
def test_a_second_header_has_the_same_time(start: Start, paper: PaperPainter, monkeypatch):
    # An idle connection closes after this time; a begun header has its own.
    monkeypatch.setattr(connections.Connection, "timeout_keep_alive_handler", lambda self: None)
    client = start(paper)
    host = f"{client.base_url.host}:{client.base_url.port}"
    with opened(client) as kept:
        kept.sendall(f"GET /api/health HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() + HALF)
        assert _rest(kept).count(b"HTTP/1.1 200") == 1


def test_answers_leave_without_delay(start: Start, paper: PaperPainter, monkeypatch):
    seen: list[int] = []
    made = connections.Connection.connection_made

    def noted(self, transport):
        made(self, transport)
        opened_one = transport.get_extra_info("socket")
        seen.append(opened_one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(connections.Connection, "connection_made", noted)
    assert start(paper).get("/api/health").status_code == 200
    assert seen
    assert all(seen)


def test_strangers_displace_each_other_and_nobody_with_the_token(
    start: Start, paper: PaperPainter, monkeypatch
):
    monkeypatch.setattr(server, "most_connections", lambda: 8)
    client = start(paper)
    assert client.get("/api/styles").status_code == 200
    with ExitStack() as held:
        halves = [held.enter_context(opened(client)) for _ in range(12)]
        for half in halves:
            half.sendall(HALF)
        assert _rest(halves[0]) == b""  # the oldest was dropped
        pool = vars(client._transport)["_pool"]
        (kept,) = pool.connections
        assert kept.is_idle()
        assert client.get("/api/styles").status_code == 200
        assert pool.connections == [kept]
        assert httpx.get(client.base_url.join("/api/health"), trust_env=False).status_code == 200


def test_nothing_is_read_behind_the_answer_413(start: Start, paper: PaperPainter):
    client = start(paper, bytes=1000)
    host = f"{client.base_url.host}:{client.base_url.port}"
    head = (
        f"POST /api/pictures?style=candy HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"8000\r\n" + bytes(0x8000) + b"\r\n"
    with opened(client) as sender:
        sender.sendall(head.encode() + piece)
        answer = sender.recv(12)
        assert answer == b"HTTP/1.1 413"
        with pytest.raises(OSError, match=r"reset|[Pp]ipe|abort"):
            _send_without_end(sender, piece)


def test_an_answer_before_the_end_of_its_request_says_that_it_ends_the_connection(
    start: Start, paper: PaperPainter
):
    client = start(paper)
    host = f"{client.base_url.host}:{client.base_url.port}"
    head = f"POST /api/pictures HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n"
    with opened(client) as sender:
        sender.sendall(head.encode())
        header, _, body = _rest(sender).partition(b"\r\n\r\n")
    assert header.startswith(b"HTTP/1.1 401")
    assert b"connection: close" in header.lower()
    assert b"the request needs the token" in body


def test_requests_pass_beside_half_open_connections(start: Start, paper: PaperPainter):
    where = start(paper, per_minute=10_000).base_url
    assert where.port is not None
    with crowd_of_halves(where.host, where.port, 40):
        told = requests_beside(where.host, where.port, TOKEN, requests=200, parallel=5)
    assert told.lost == 0


def test_a_small_limit_of_files_leaves_a_small_crowd(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert connections.most_connections() == 80


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of files")
def test_a_process_with_few_files_serves_beside_a_crowd_and_writes_nothing(tmp_path: Path):
    with ExitStack() as running:
        with resource_limit("RLIMIT_NOFILE", 256):
            port, token = running.enter_context(served(tmp_path))
        running.enter_context(crowd_of_halves("127.0.0.1", port, 300))
        told = requests_beside("127.0.0.1", port, token, requests=40, parallel=4)
    assert told.lost == 0
    assert (tmp_path / ERRORS).read_text().strip() == "Stopped."


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of files")
def test_no_files_left_is_said_once_and_the_server_recovers(
    start: Start, paper: PaperPainter, caplog: pytest.LogCaptureFixture
):
    client = start(paper)
    where = client.base_url
    client.get("/api/health")  # its loop has opened its own files
    request = f"GET /api/health HTTP/1.0\r\nHost: {where.host}:{where.port}\r\n\r\n"
    with socket.socket() as asking:
        with resource_limit("RLIMIT_NOFILE", 0):  # a socket with a timeout could not connect
            asking.connect((where.host, where.port))
            asking.sendall(request.encode())
            until(lambda: "cannot accept" in caplog.text)
        asking.settimeout(20)
        assert _rest(asking).startswith(b"HTTP/1.1 200")
    assert caplog.text.count("cannot accept") == 1
    caplog.clear()


def test_a_body_that_trickles_is_ended_and_gives_its_place_back(
    start: Start, paper: PaperPainter, monkeypatch
):
    monkeypatch.setattr(connections, "BODY_S", 0.3)
    client = start(paper, waiting=1)
    host = f"{client.base_url.host}:{client.base_url.port}"
    head = (
        f"POST /api/pictures?style=candy HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: 1000\r\n\r\n"
    )
    with opened(client) as sender:
        sender.sendall(head.encode())
        with pytest.raises(OSError, match=r"reset|[Pp]ipe|abort"):
            _trickle(sender)
    until(lambda: client.get("/api/status").json()["waiting"] == 0)


def _trickle(sender: socket.socket) -> None:
    for _ in range(999):
        sender.sendall(b"x")
        time.sleep(0.02)


def _send_without_end(sender: socket.socket, piece: bytes) -> None:
    for _ in range(4000):  # 131 MB, far more than socket buffers hold
        sender.sendall(piece)


def _rest(of: socket.socket) -> bytes:
    data = b""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            piece = of.recv(65536)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece
    raise AssertionError("the connection was not closed")
