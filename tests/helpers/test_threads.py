"""A thread that a test leaves behind fails it, whatever kind of thread it is."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QThread

from tests.helpers.threads import running, stray

ROOT = Path(__file__).resolve().parents[2]

CARELESS = """
import threading
from PySide6.QtCore import QThread
from tests.helpers import threads

threads.GRACE_S = 1.0  # which the forgotten ones here are waited for
ended = threading.Event()
left = []

def test_that_leaves_a_daemon():
    left.append(threading.Thread(target=ended.wait, daemon=True, name="forgotten"))
    left[-1].start()

def test_that_leaves_a_qthread(qapp):
    left.append(QThread(objectName="abandoned"))
    left[-1].start()

def test_whose_thread_ends_a_little_later():
    threading.Timer(0.2, int).start()

def test_that_ends_what_the_others_left():
    ended.set()
    left[1].quit()
    left[1].wait()
"""


@pytest.mark.full
def test_a_test_that_leaves_a_thread_behind_fails(tmp_path):
    (tmp_path / "test_careless.py").write_text(CARELESS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    run = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), str(tmp_path / "test_careless.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "4 passed, 2 errors" in run.stdout, run.stdout + run.stderr
    assert "still running: daemon 'forgotten'" in run.stdout
    assert "still running: QThread 'abandoned'" in run.stdout


def test_daemons_and_qthreads_are_seen_until_they_end(qapp):
    before = running()
    end = threading.Event()
    daemon = threading.Thread(target=end.wait, daemon=True, name="daemon")
    thread = QThread()
    thread.setObjectName("qthread")
    daemon.start()
    thread.start()
    try:
        assert stray(before, within=0) == ["QThread 'qthread'", "daemon 'daemon'"]
    finally:
        end.set()
        thread.quit()
        thread.wait()
    assert stray(before) == []


def test_the_thread_of_the_window_is_none_that_was_begun(qapp):
    before = running()
    assert QThread.currentThread().isRunning()
    assert qapp.thread().isRunning()
    assert stray(before, within=0) == []
