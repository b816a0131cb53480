"""The server on its own thread, from the sockets to a graceful end."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from app.server.address import hosts, listen, url
from app.server.application import application
from app.server.connections import ACCEPTED, Crowd, Server, connection_class, most_connections
from app.server.gate import Gate
from app.server.jobs import Jobs
from app.server.limits import Limits, Rate
from app.server.line import Line
from app.server.painting import Painter
from app.server.studio import Studio

LAST_ANSWERS_S = 5  # for answers in progress at the end


@dataclass(frozen=True, slots=True)
class Serving:
    """A running server; its thread ends early only after a fault.

    Attributes:
        resumed: How many jobs of an earlier server wait in its line.
    """

    urls: tuple[str, ...]
    resumed: int
    thread: threading.Thread


@contextmanager
def serving(
    painter: Painter, token: str, *, addresses: Sequence[str], port: int, limits: Limits, jobs: Path
) -> Iterator[Serving]:
    """Serve on loopback addresses during the block; a `port` of 0 is a free one.

    At the end of the block, the picture being styled is completed and sent. Waiting requests are
    refused, and waiting jobs stay for the next server.

    Raises:
        AddressError: If the server cannot listen on an address.
    """
    sockets = listen(addresses, port)
    port = sockets[0].getsockname()[1]
    line = Line(limits.waiting)
    with tempfile.TemporaryDirectory(prefix="styleforge-") as folder:
        queue = Jobs(jobs, painter, line)
        studio = Studio(painter, line, queue, limits, Path(folder))
        gate = Gate(application(studio), hosts(port), token, Rate(limits.per_minute))
        crowd = Crowd(most_connections())
        config = uvicorn.Config(
            gate,
            http=connection_class(crowd),  # type: ignore[arg-type]  (it is called as one)
            backlog=ACCEPTED,
            ws="none",
            lifespan="off",
            proxy_headers=False,  # no proxy forwards requests to it
            server_header=False,
            access_log=False,
            log_config=None,
            timeout_graceful_shutdown=LAST_ANSWERS_S,
        )
        server = Server(config)
        thread = threading.Thread(target=server.run, args=(sockets,), name="http")
        urls = tuple(url(each) for each in sockets)
        thread.start()
        try:
            yield Serving(urls, queue.resume(), thread)
        finally:
            try:
                line.close()
            finally:  # a second Ctrl+C does not wait for the picture
                server.should_exit = True
                thread.join()
