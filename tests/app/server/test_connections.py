"""Connections without the token: their time and their number are bounded, and others are served."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

import httpx
import pytest

from app.server import connections, server
from app.server.connections import Crowd
from tests.app.server.conftest import TOKEN, PaperPainter, Start
from tests.stress.crowded_server import crowd_of_halves, requests_beside

HALF = b"GET / HTTP/1.1\r\nHost: "


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that waits for a header for a moment only."""
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
def test_a_second_header_has_the_same_time(start: Start, paper: PaperPainter):
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
        assert _rest(halves[0]) == b""  # the oldest made room
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


def test_requests_pass_beside_half_open_connections(start: Start, paper: PaperPainter):
    client = start(paper, per_minute=10_000)
    with crowd_of_halves(client.base_url.host, client.base_url.port or 80, 40):
        told = requests_beside(str(client.base_url), TOKEN, requests=200, parallel=5)
    assert told.lost == 0


def test_a_small_limit_of_files_leaves_a_small_crowd(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert connections.most_connections() == 85
    assert Crowd(85).backlog == 21


def _send_without_end(sender: socket.socket, piece: bytes) -> None:
    for _ in range(4000):  # 131 MB, far beyond what sockets hold
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
