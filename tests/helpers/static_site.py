"""Any static web server: a folder on loopback, below a path."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder below a path; yield the address of its index, without a file's name."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return super().translate_path(path.removeprefix("/below"))

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/below/"
    finally:
        server.shutdown()
        server.server_close()
