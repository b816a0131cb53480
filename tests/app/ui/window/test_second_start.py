"""A second start hands its files to the window that is open."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QProcess, Qt

from app.ui import second_start
from app.ui.application import _show_request
from app.ui.second_start import StartRequest, claim, socket_name
from tests.app.ui.window.conftest import press

of_sockets = pytest.mark.skipif(os.name == "nt", reason="Windows has pipes in their place")


@pytest.fixture
def first(qapp, tmp_path):
    """Become the first start with a settings file."""
    requests = claim(tmp_path / "settings.json", StartRequest(), alone=False)
    assert requests is not None
    yield requests
    requests.close()


def started(settings: Path, qtbot, *, path: Path, alone: bool = False) -> bool:
    """Return whether another process hands a path over, while this one receives it."""
    code = (
        "import sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication; "
        "from app.ui.second_start import *; app = QCoreApplication([]); "
        "asked = StartRequest((sys.argv[2],)); alone = sys.argv[3] == 'True'; "
        "sys.exit(claim(Path(sys.argv[1]), asked, alone=alone) is None)"
    )
    process = QProcess()
    process.start(sys.executable, ["-c", code, str(settings), str(path), str(alone)])
    qtbot.waitUntil(lambda: process.state() == QProcess.ProcessState.NotRunning, timeout=60_000)
    assert not process.readAllStandardError().data()
    return process.exitCode() == 1


def answered(settings: Path, line: bytes, qtbot) -> bytes:
    """Return what the open window answers to a line."""
    answers: list[bytes] = []

    def ask() -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(Path(tempfile.gettempdir()) / socket_name(settings)))
            client.sendall(line)
            answers.append(client.recv(100))

    thread = threading.Thread(target=ask)
    thread.start()
    qtbot.waitUntil(lambda: bool(answers), timeout=10_000)
    thread.join()
    return answers[0]


def test_the_open_window_gets_the_files_of_the_program_that_ends(first, tmp_path, picture, qtbot):
    taken: list[StartRequest] = []
    first.deliver_to(taken.append)
    assert started(tmp_path / "settings.json", qtbot, path=picture)
    assert taken == [StartRequest((str(picture),))]


@pytest.mark.full
def test_a_whole_second_start_ends_without_a_window(monkeypatch, tmp_path, picture, qtbot):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    requests = claim(tmp_path / "styleforge" / "settings.json", StartRequest(), alone=False)
    assert requests is not None
    taken: list[StartRequest] = []
    requests.deliver_to(taken.append)
    process = QProcess()
    process.start(sys.executable, ["-m", "app", "--open", str(picture)])
    qtbot.waitUntil(lambda: process.state() == QProcess.ProcessState.NotRunning, timeout=60_000)
    assert process.exitCode() == 0, bytes(process.readAllStandardError().data()).decode()
    assert [request.paths for request in taken] == [(str(picture),)]
    requests.close()


def test_the_window_comes_to_the_front_with_the_file(window, session, picture, qtbot):
    window.setWindowState(Qt.WindowState.WindowMinimized)
    with qtbot.waitSignal(session.styled, timeout=5000):
        _show_request(window, StartRequest((str(picture),)))
    assert not window.isMinimized()
    assert session.spec == str(picture)


def test_without_files_the_open_source_stays(streaming, session, picture):
    _show_request(streaming, StartRequest())
    assert session.spec == str(picture)


@of_sockets
def test_requests_wait_until_the_window_is_there(first, tmp_path, qtbot):
    request = StartRequest(("/a.png", "/b.png"), token="x")
    assert answered(tmp_path / "settings.json", request.line(), qtbot) == second_start.ANSWER
    taken: list[StartRequest] = []
    first.deliver_to(taken.append)
    assert taken == [request]


def test_a_start_that_wants_its_own_window_hands_nothing_over(first, tmp_path, qtbot):
    taken: list[StartRequest] = []
    first.deliver_to(taken.append)
    assert not started(tmp_path / "settings.json", qtbot, path=tmp_path, alone=True)
    assert taken == []


def test_other_settings_are_another_program(first, tmp_path):
    other = claim(tmp_path / "other" / "settings.json", StartRequest(), alone=False)
    assert other is not None
    other.close()


@of_sockets
def test_the_socket_of_a_program_that_crashed_is_replaced(qapp, tmp_path, qtbot):
    settings = tmp_path / "settings.json"
    left = Path(tempfile.gettempdir()) / socket_name(settings)
    with socket.socket(socket.AF_UNIX) as crashed:
        crashed.bind(str(left))
    requests = claim(settings, StartRequest(), alone=False)
    assert requests is not None
    assert answered(settings, StartRequest().line(), qtbot) == second_start.ANSWER
    requests.close()


def test_a_closed_window_takes_nothing(first, tmp_path, qtbot):
    first.close()
    assert not started(tmp_path / "settings.json", qtbot, path=tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b"\n", b"[]\n", b'{"paths": "a", "source": "", "token": ""}\n',
        b'{"paths": [1], "source": "", "token": ""}\n', b"\xff\n",
    ],
    ids=["nothing", "list", "text", "number", "no text"],
)  # fmt: skip
@of_sockets
def test_other_programs_get_no_answer(line, first, tmp_path, qtbot):
    taken: list[StartRequest] = []
    first.deliver_to(taken.append)
    assert answered(tmp_path / "settings.json", line, qtbot) == b""
    assert taken == []


def test_a_key_opens_another_window(window, monkeypatch):
    started: list[list[str]] = []
    monkeypatch.setattr(
        second_start.QProcess, "startDetached", lambda _, args: started.append(args) or True
    )
    press(window, "new_window")
    assert started == [["-m", "app", "--new-window"]]
