"""Hands what a second start would open to the window that is already open.

A start of the program listens on a local socket, which only this user can open. A later start with
the same settings file and screen connects to it, sends one line of JSON, and ends once it is
answered.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess
from PySide6.QtNetwork import QLocalServer, QLocalSocket

import app
from utils.files import small_json
from utils.files.locks import LockedError, locked

log = logging.getLogger(__name__)

MAX_BYTES = 1 << 20  # of a request
PATIENCE_MS = 3000  # of a start that waits for the answer
PATIENCE_S = 5.0  # of a start that waits for another one
ANSWER = b"shown\n"
SCREENS = ("WAYLAND_DISPLAY", "DISPLAY")
ANY_PROCESS = -1  # for Windows
ACTIVATION = "XDG_ACTIVATION_TOKEN"  # with it, Wayland lets another window come to the front


@dataclass(frozen=True, slots=True)
class StartRequest:
    """Asks an open window to come to the front.

    Attributes:
        paths: Absolute paths to open there; empty to open nothing.
        source: A source to open there, if there are no paths.
        token: The desktop's permission to activate the window; empty without one.
    """

    paths: tuple[str, ...] = ()
    source: str = ""
    token: str = ""

    def line(self) -> bytes:
        told = {"paths": self.paths, "source": self.source, "token": self.token}
        return json.dumps(told).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> StartRequest:
        """Read a line.

        Raises:
            ValueError: If it is no request.
        """
        told = small_json.loads(line)
        match told:
            case {"paths": [*paths], "source": str(source), "token": str(token)}:
                if all(isinstance(path, str) for path in paths):
                    return cls(tuple(paths), source, token)
        raise ValueError("it is no request of another start")


def socket_name(settings: Path) -> str:
    """Return the name of the socket for a settings file and the screen of this process."""
    screen = next((os.environ[name] for name in SCREENS if os.environ.get(name)), "")
    place = f"{settings.absolute()}\n{screen}"
    return f"styleforge-{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def hand_over(name: str, request: StartRequest) -> bool:
    """Send a request to the open window; return whether one answered."""
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(PATIENCE_MS):
        return False
    if sys.platform == "win32":
        # Only the process with the focus, which is this one, can let another one take it.
        windows: Any = ctypes
        windows.windll.user32.AllowSetForegroundWindow(ANY_PROCESS)
    socket.write(request.line())
    answer = b""
    while not answer.endswith(b"\n") and socket.waitForReadyRead(PATIENCE_MS):
        answer += socket.readAll().data()
    socket.disconnectFromServer()
    return answer == ANSWER


class StartRequests(QObject):
    """Receives the requests of later starts, and answers them once they are handled.

    Requests that arrive before `deliver_to` is called wait for it.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._take)
        self._handle: Callable[[StartRequest], object] | None = None
        self._waiting: list[StartRequest] = []

    def listen(self, name: str) -> bool:
        """Listen, in place of a program that crashed. Return whether it succeeded."""
        QLocalServer.removeServer(name)
        return self._server.listen(name)

    def deliver_to(self, handle: Callable[[StartRequest], object]) -> None:
        self._handle = handle
        while self._waiting:
            handle(self._waiting.pop(0))

    def close(self) -> None:
        """Receive nothing any more, so that the next start opens a window of its own."""
        self._server.close()

    def _take(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.readyRead.connect(lambda socket=socket: self._read(socket))
            self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > MAX_BYTES:
                socket.abort()
            return
        try:
            request = StartRequest.of(bytes(socket.readLine(MAX_BYTES).data()))
        except ValueError as exc:
            log.info("A request of another program was refused: %s", exc)
            socket.abort()
            return
        socket.write(ANSWER)
        socket.flush()
        if self._handle is None:
            self._waiting.append(request)
        else:
            self._handle(request)


def claim(settings: Path, request: StartRequest, *, alone: bool) -> StartRequests | None:
    """Hand `request` to the open window, or become the one that receives later requests.

    Args:
        settings: The settings file.
        alone: Whether to open another window although one is open. Such a window receives
            requests only if no other one does.

    Returns:
        None if an open window took the request.
    """
    requests, name = StartRequests(), socket_name(settings)
    try:
        with locked(settings.with_name("window"), PATIENCE_S, keep=True):
            if _answers(name):
                if not alone and hand_over(name, request):
                    return None
            elif not requests.listen(name):
                log.info("Later starts cannot reach this window")
    except (LockedError, OSError) as exc:
        log.info("Later starts cannot reach this window: %s", exc)
    return requests


def _answers(name: str) -> bool:
    """Return whether a program listens; a request without a line asks for nothing."""
    socket = QLocalSocket()
    socket.connectToServer(name)
    found = socket.waitForConnected(PATIENCE_MS)
    socket.abort()
    return found


def open_another() -> bool:
    """Start the program once more, with a window of its own; return whether it started."""
    started = QProcess.startDetached(sys.executable, ["-m", app.__name__, "--new-window"])
    return started[0] if isinstance(started, tuple) else started
