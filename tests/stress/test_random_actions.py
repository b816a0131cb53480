"""Whatever is done to the window, and however fast, it answers and shows the right picture.

`python -m tests.stress.random_actions` does the same for as long as one likes, with large pictures.
"""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QEventLoop, QTimer

from tests.stress.gui_gaps import LONG_MS, Watch
from tests.stress.random_actions import Report, run

SEED, ACTIONS = 11, 150
COMPUTED_MS = 150  # between two beats; a quiet machine computes for 40, and a busy one is slower


@pytest.fixture(scope="module")
def report(qapp, native_kernels, tmp_path_factory) -> Report:
    return run(SEED, ACTIONS, large=False, folder=tmp_path_factory.mktemp("random"))


def test_no_exception_no_message_of_qt_and_the_right_picture_in_the_end(report):
    assert not report.faults, report
    assert report.done.total() == ACTIONS
    assert len(report.done) > 25


def test_nothing_on_the_gui_thread_computes_for_long(report):
    assert report.worst_cpu_ms < COMPUTED_MS, report


def test_the_gui_thread_waits_for_no_file_no_program_and_no_network(report):
    assert not report.waits, report


# What measures


def turned(watch: Watch, *work) -> None:
    """Run an event loop in which each piece of work has a turn of its own."""
    loop = QEventLoop()
    for number, each in enumerate(work):
        QTimer.singleShot(30 * (number + 1), each)
    watch.start()
    QTimer.singleShot(30 * len(work) + 200, loop.quit)
    loop.exec()
    watch.stop()


def computing() -> None:
    end = time.thread_time() + 2 * LONG_MS / 1e3
    while time.thread_time() < end:
        pass


def waiting() -> None:
    time.sleep(2 * LONG_MS / 1e3)


def test_computing_and_waiting_are_told_apart(qapp):
    watch = Watch()
    turned(watch, computing, waiting)
    long = [gap for gap in watch.gaps if gap.wall_ms >= 1.9 * LONG_MS]
    computed = [gap for gap in long if "computing" in gap.cause]
    waited = [gap for gap in long if "waiting" in gap.cause]
    assert computed[0].cpu_ms > 1.9 * LONG_MS
    assert waited[0].cpu_ms < LONG_MS
    assert waited[0].wall_ms > waited[0].cpu_ms + LONG_MS


def test_files_touched_on_this_thread_are_noted_with_who_does_it(qapp, tmp_path):
    from app.settings import Settings

    watch = Watch()
    turned(watch, lambda: Settings().save(tmp_path / "settings.json"), lambda: None)
    assert any("os.rename" in wait and "save" in wait for wait in watch.waits)


def test_actions_that_do_not_exist_are_refused(qapp, tmp_path):
    with pytest.raises(ValueError, match="no actions"):
        run(1, 1, large=False, only=["fly"], folder=tmp_path)
