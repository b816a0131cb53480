"""A web server that sends arbitrary bytes, as slowly or endlessly as a test wants."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Send = Callable[[bytes], None]


class RawServer:
    """A server that calls `script` with a function that sends to the client; a context manager.

    `closing` is set when the server should end. `script` ends when it sends after that, or to a
    closed connection.
    """

    def __init__(self, script: Callable[[RawServer, Send], None]) -> None:
        self.closing = threading.Event()
        self._script = script
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self.port: int = self._listening.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/live"

    def __enter__(self) -> RawServer:
        self._threads[0].start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        self._listening.settimeout(0.05)
        while not self.closing.is_set():
            with contextlib.suppress(TimeoutError):
                client = self._listening.accept()[0]
                thread = threading.Thread(target=self._answer, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _answer(self, client: socket.socket) -> None:
        client.settimeout(0.2)

        def send(data: bytes) -> None:
            view = memoryview(data)
            while view:
                if self.closing.is_set():
                    raise ConnectionAbortedError
                with contextlib.suppress(TimeoutError):
                    view = view[client.send(view) :]

        with client, contextlib.suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request and (more := client.recv(4096)):
                request += more
            self._script(self, send)


@contextmanager
def sending(head: bytes, again: bytes = b"", pause: float = 0.0) -> Iterator[str]:
    """Yield the address of a server that sends `head`, then `again` forever, `pause` seconds
    apart.
    """

    def script(server: RawServer, send: Send) -> None:
        send(head)
        while again:
            send(again)
            server.closing.wait(pause)

    with RawServer(script) as server:
        yield server.url
