"""A web server on loopback that sends one file, with or without ranges, and counts its bytes."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Served:
    """A file, with the way to serve it.

    Attributes:
        data: The file.
        ranges: Whether the server answers range requests with ranges.
        headers: The headers that identify its version.
        before: Called with the number of each answer, from 1, before the answer is sent.
        total: The size that ranges declare; "" for the file's.
        cut: The number of bytes missing at the end of each answer.
        requests: The requested ranges.
        sent: The number of bytes of the file that were sent.
    """

    data: bytes
    ranges: bool = True
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"first"'})
    before: Callable[[int], None] = lambda number: None
    total: str = ""
    cut: int = 0
    requests: list[str] = field(default_factory=list)
    sent: int = 0
    address: str = ""


@contextmanager
def serving(served: Served) -> Iterator[Served]:
    """Serve the file under `served.address` during the block."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            served.requests.append(asked)
            served.before(len(served.requests))
            wanted = self.headers.get("If-Match")
            if wanted is not None and wanted != served.headers.get("ETag"):
                self.send_error(412)
                return
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", asked) if served.ranges else None
            body = served.data
            self.send_response(206 if found else 200)
            if found:
                first, last = int(found[1]), min(int(found[2]), len(body) - 1)
                self.send_header(
                    "Content-Range", f"bytes {first}-{last}/{served.total or len(body)}"
                )
                body = body[first : last + 1]
            for name, value in served.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # the client may have disconnected
                self.wfile.write(body[: len(body) - served.cut])
                served.sent += len(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    served.address = f"http://127.0.0.1:{server.server_port}/vgg19-test.pth"
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
