"""Sends many requests to a real server while connections without a token stay half open.

`python -m tests.stress.crowded_server --requests 10000 --parallel 20 --halves 300` prints the
number of lost requests and the time of `/api/health`. Server, requests and half-open connections
run in separate processes. A connection that the server closes is reopened at once.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HALF = b"GET / HTTP/1.1\r\nHost: "
PATHS = "/api/status", "/api/health"  # alternating; the first needs the token
MOST_MS = 50.0
PATIENCE_S = 60.0
ERRORS = "errors.txt"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """The outcome of the requests: the number of lost ones, and the median time in ms."""

    lost: int
    median_ms: float


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[tuple[int, str]]:
    """Run `styleforge serve`; yield its port and its token. A signal ends it.

    Args:
        folder: The folder for its jobs, and for the file ERRORS with its stderr.
        flags: More flags of the command.

    Raises:
        subprocess.TimeoutExpired: If it does not end.
    """
    command = [sys.executable, "-m", "app", "serve", "--port", "0", "--device", "cpu"]
    command += ["--kernels", "baseline", "--queue", str(folder / "jobs"), *flags]
    with (
        (folder / ERRORS).open("wb") as errors,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            found = re.match(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", line)
            assert found, (folder / ERRORS).read_text()
            yield int(found[1]), found[2]
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)
        finally:
            process.kill()


@dataclass(slots=True)
class _Lane:
    """A persistent connection that sends one request after another."""

    left: int
    connection: socket.socket = field(default_factory=socket.socket)
    number: int = 0
    begun: float = 0.0
    answer: bytes = b""


def requests_beside(
    host: str, port: int, token: str, *, requests: int, parallel: int, patience_s: float = 30.0
) -> Told:
    """Alternate requests for the status, which needs the token, and for the health.

    Each of `parallel` connections sends one request at a time. A request without an answer within
    `patience_s` counts as lost.
    """
    texts = [
        f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        for path in PATHS
    ]
    times: list[float] = []
    lost = 0
    with selectors.DefaultSelector() as waiting:

        def send(lane: _Lane, *, anew: bool) -> None:
            if anew:
                lane.connection.close()
                lane.connection = socket.create_connection((host, port), timeout=patience_s)
                waiting.register(lane.connection, selectors.EVENT_READ, lane)
            lane.begun, lane.answer = time.perf_counter(), b""
            lane.connection.sendall(texts[lane.number % 2].encode())

        def leave(lane: _Lane) -> None:
            waiting.unregister(lane.connection)
            lane.connection.close()

        def end(lane: _Lane, *, well: bool) -> None:
            nonlocal lost
            lost += not well
            if lane.number % 2:
                times.append((time.perf_counter() - lane.begun) * 1e3)
            lane.number += 1
            lane.left -= 1
            if not well or not lane.left:
                leave(lane)
            if lane.left:
                send(lane, anew=not well)

        for _ in range(parallel):
            send(_Lane(requests // parallel), anew=True)
        while waiting.get_map():
            for key, _ in waiting.select(1.0):
                lane: _Lane = key.data
                piece = b""
                with contextlib.suppress(ConnectionError):
                    piece = lane.connection.recv(1 << 20)
                lane.answer += piece
                if not piece:
                    end(lane, well=False)
                elif _is_whole(lane.answer):
                    end(lane, well=lane.answer.startswith(b"HTTP/1.1 200 "))
            late = time.perf_counter() - patience_s
            for key in list(waiting.get_map().values()):
                if key.data.begun < late:
                    end(key.data, well=False)
    return Told(lost, statistics.median(times))


def _is_whole(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    length = _LENGTH.search(head + b"\r\n")
    return bool(found) and length is not None and len(body) >= int(length[1])


@contextmanager
def crowd_of_halves(host: str, port: int, count: int) -> Iterator[None]:
    """Hold connections with half a header during the block, and replace the ones that end."""
    apart = multiprocessing.get_context("spawn")
    begun, ended = apart.Event(), apart.Event()
    process = apart.Process(target=_hold, args=(host, port, count, begun, ended), daemon=True)
    process.start()
    try:
        assert begun.wait(PATIENCE_S), "the crowd did not come"
        yield
    finally:
        ended.set()
        process.join(PATIENCE_S)
        process.kill()


def _hold(host: str, port: int, count: int, begun: Event, ended: Event) -> None:
    with selectors.DefaultSelector() as held:
        while not ended.is_set():
            while len(held.get_map()) < count and not ended.is_set():
                with contextlib.suppress(OSError):
                    one = socket.create_connection((host, port), timeout=5)
                    held.register(one, selectors.EVENT_READ)
                    one.sendall(HALF)
            begun.set()
            for key, _ in held.select(0.05):  # closed by the server
                held.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]


def main() -> int:
    """Serve, send requests, and print the figures.

    Return 1 if a request was lost or the median is too long.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--parallel", type=int, default=20)
    parser.add_argument("--halves", type=int, default=300)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder), "--max-requests", str(10 * args.requests)) as (port, token),
        crowd_of_halves("127.0.0.1", port, args.halves),
    ):
        told = requests_beside(
            "127.0.0.1", port, token, requests=args.requests, parallel=args.parallel
        )
    load = f", at a load of {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    sys.stdout.write(
        f"{args.requests} requests, {args.parallel} in parallel, beside {args.halves} half-open "
        f"connections: {told.lost} lost, health {told.median_ms:.1f} ms at the median{load}\n"
    )
    return int(bool(told.lost) or told.median_ms > MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
