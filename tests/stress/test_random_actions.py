"""However fast and random the actions are, the window responds and shows the right picture.

`python -m tests.stress.random_actions` does the same for any length of time, with large pictures.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEventLoop

from tests.stress.gui_gaps import LONG_MS, Watch, most_computed_ms
from tests.stress.random_actions import Report, run

SEED, ACTIONS = 11, 120


@pytest.fixture(scope="module")
def report(qapp, native_kernels, tmp_path_factory) -> Report:
    return run(SEED, ACTIONS, large=False, folder=tmp_path_factory.mktemp("random"))


@pytest.mark.full
def test_no_exception_no_message_of_qt_and_the_right_picture_in_the_end(report):
    assert not report.faults, report
    assert report.done.total() == ACTIONS
    assert len(report.done) > 25


@pytest.mark.full
def test_nothing_on_the_gui_thread_computes_for_long(report):
    assert report.worst_cpu_ms < most_computed_ms(), report


@pytest.mark.full
def test_the_gui_thread_waits_for_no_file_no_program_and_no_network(report):
    assert not report.waits, report


# The measurement itself


LOOKS = 10  # samples by the watching thread during a piece of work, however late it gets a core


def turned(watch: Watch, *work: Callable[[Watch], object]) -> None:
    """Run an event loop that does one piece of work between two beats.

    The gap of a piece has its name in `doing`.
    """
    loop = QEventLoop()
    left = iter(work)

    def turn() -> None:  # called after every beat
        piece = next(left, None)
        watch.doing = "" if piece is None else piece.__name__
        if piece is None:
            loop.quit()
        else:
            piece(watch)

    watch._timer.timeout.connect(turn)
    watch.start()
    loop.exec()
    watch.stop()


def computing(watch: Watch) -> None:
    end, looks = time.thread_time() + 2 * LONG_MS / 1e3, len(watch._seen) + LOOKS
    while time.thread_time() < end or len(watch._seen) < looks:
        pass


def waiting(watch: Watch) -> None:
    looks = len(watch._seen) + LOOKS
    while len(watch._seen) < looks:
        time.sleep(2 * LONG_MS / 1e3)


def test_computing_and_waiting_are_told_apart(qapp):
    watch = Watch()
    gc.disable()  # a garbage collection would appear as the cause
    try:
        turned(watch, computing, waiting)
    finally:
        gc.enable()
    (computed,) = [gap for gap in watch.gaps if gap.doing == "computing"]
    (waited,) = [gap for gap in watch.gaps if gap.doing == "waiting"]
    assert "computing" in computed.cause
    assert "waiting" in waited.cause
    # Other processes do not change CPU time; a sleep is blocked for its whole duration.
    assert computed.cpu_ms > 1.9 * LONG_MS
    assert waited.cpu_ms < LONG_MS < waited.blocked_ms


def test_files_touched_on_this_thread_are_noted_with_who_does_it(qapp, tmp_path):
    from app.settings import Settings

    watch = Watch()
    turned(watch, lambda _: Settings().save(tmp_path / "settings.json"))
    assert any("os.rename" in wait and "save" in wait for wait in watch.waits)


@pytest.mark.full
def test_actions_that_do_not_exist_are_refused(qapp, tmp_path):
    with pytest.raises(ValueError, match="no actions"):
        run(1, 1, large=False, only=["fly"], folder=tmp_path)
