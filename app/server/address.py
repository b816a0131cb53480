"""The loopback addresses that the server listens on, and the names by which clients may call it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence

from app.errors import StyleForgeError

LOOPBACK = ("127.0.0.1", "::1")
NAMES = ("127.0.0.1", "localhost", "[::1]")  # in the Host header
_HTTP_PORT = 80  # browsers omit it


class AddressError(StyleForgeError):
    """Raised if the server cannot listen on an address."""


def loopback(address: str) -> str:
    """Return a loopback address.

    Raises:
        AddressError: If the text is not a loopback address.
    """
    if address not in LOOPBACK:
        raise AddressError(
            f"the server listens only on this machine, at {' or '.join(LOOPBACK)}, not at "
            f"'{address}'"
        )
    return address


def listen(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Open sockets for the addresses, all on one port; 0 is a free one.

    Raises:
        AddressError: If an address is not loopback, or the port is taken.
    """
    opened: list[socket.socket] = []
    try:
        for address in addresses:
            family = socket.AF_INET6 if ":" in loopback(address) else socket.AF_INET
            opened.append(socket.create_server((address, port), family=family))
            port = opened[0].getsockname()[1]
    except OSError as exc:
        _close(opened)
        if exc.errno == errno.EADDRINUSE:
            raise AddressError(
                f"port {port} is in use by another program; --port 0 chooses a free one"
            ) from exc
        raise AddressError(
            f"the server cannot listen on port {port} of {' or '.join(addresses)}: "
            f"{exc.strerror or exc}"
        ) from exc
    except AddressError:
        _close(opened)
        raise
    return opened


def hosts(port: int) -> frozenset[str]:
    """Return the allowed Host headers.

    Any other header comes from a foreign site whose name was pointed here (DNS rebinding).
    """
    named = {f"{name}:{port}" for name in NAMES}
    return frozenset(named | ({*NAMES} if port == _HTTP_PORT else set()))


def url(opened: socket.socket) -> str:
    address, port = opened.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}/"


def _close(opened: Sequence[socket.socket]) -> None:
    for each in opened:
        each.close()
