"""Asks a real server many times while connections without a token are held half open beside it.

`python -m tests.stress.crowded_server --requests 10000 --parallel 20 --halves 300` prints how many
requests were lost and how long `/api/health` took. A connection that the server closes is opened
again at once.
"""

from __future__ import annotations

import argparse
import contextlib
import selectors
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

HALF = b"GET / HTTP/1.1\r\nHost: "
MOST_MS = 50.0


@dataclass(frozen=True, slots=True)
class Told:
    """How requests fared: the number of lost ones, and the median time of one in ms."""

    lost: int
    median_ms: float


def requests_beside(url: str, token: str, *, requests: int, parallel: int) -> Told:
    """Ask for the styles, which needs the token, and for the health, in turn."""
    times: list[float] = []

    def ask(count: int) -> int:
        lost = 0
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=30) as client:
            for number in range(count):
                begun = time.perf_counter()
                try:
                    path = "/api/health" if number % 2 else "/api/styles"
                    lost += client.get(path).status_code != 200
                except httpx.HTTPError:
                    lost += 1
                if number % 2:
                    times.append((time.perf_counter() - begun) * 1e3)
        return lost

    with ThreadPoolExecutor(parallel) as pool:
        lost = sum(pool.map(ask, [requests // parallel] * parallel))
    return Told(lost, statistics.median(times))


@contextmanager
def crowd_of_halves(host: str, port: int, count: int) -> Iterator[None]:
    """Hold connections with half a header during the block, and replace the ones that end."""
    ended = threading.Event()
    thread = threading.Thread(target=_hold, args=(host, port, count, ended), name="halves")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _hold(host: str, port: int, count: int, ended: threading.Event) -> None:
    with selectors.DefaultSelector() as held:
        try:
            while not ended.is_set():
                while len(held.get_map()) < count and not ended.is_set():
                    with contextlib.suppress(OSError):
                        one = socket.create_connection((host, port), timeout=5)
                        held.register(one, selectors.EVENT_READ)
                        one.sendall(HALF)
                for key, _ in held.select(0.05):  # closed by the server
                    held.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
        finally:
            for key in list(held.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]


def main() -> int:
    """Serve, ask, and print the figures; 1 where a request was lost or the median is too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--parallel", type=int, default=20)
    parser.add_argument("--halves", type=int, default=300)
    args = parser.parse_args()
    from app.server.limits import Limits
    from app.server.server import serving
    from app.styles.library import BUILTIN, Library
    from tests.app.server.conftest import TOKEN, PaperPainter

    with tempfile.TemporaryDirectory() as folder:
        painter = PaperPainter(Library(BUILTIN, Path(folder, "styles")))
        limits = Limits(per_minute=10 * args.requests)
        with serving(
            painter,
            TOKEN,
            addresses=("127.0.0.1",),
            port=0,
            limits=limits,
            jobs=Path(folder, "jobs"),
        ) as server:
            url = server.urls[0]
            where = httpx.URL(url)
            with crowd_of_halves(where.host, where.port or 80, args.halves):
                told = requests_beside(url, TOKEN, requests=args.requests, parallel=args.parallel)
    sys.stdout.write(
        f"{args.requests} requests, {args.parallel} in parallel, beside {args.halves} half-open "
        f"connections: {told.lost} lost, health {told.median_ms:.1f} ms at the median\n"
    )
    return int(bool(told.lost) or told.median_ms > MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
