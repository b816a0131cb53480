"""Background work comes back on the right thread, or says why it failed."""

from __future__ import annotations

import threading
import time

import pytest

from app.jobs import Jobs


@pytest.fixture
def jobs(qtbot):
    jobs = Jobs()
    yield jobs
    jobs.close()


def test_the_result_arrives_on_the_thread_that_asked(jobs, qtbot):
    seen = []
    jobs.run(
        threading.get_ident, lambda ident: seen.append((ident, threading.get_ident())), seen.append
    )
    qtbot.waitUntil(lambda: bool(seen), timeout=2000)
    worked_on, delivered_on = seen[0]
    assert worked_on != delivered_on == threading.get_ident()


def test_a_failure_arrives_as_the_exception(jobs, qtbot):
    failures = []
    jobs.run(lambda: 1 // 0, pytest.fail, failures.append)
    qtbot.waitUntil(lambda: bool(failures), timeout=2000)
    assert isinstance(failures[0], ZeroDivisionError)


def test_after_closing_nothing_is_delivered_and_a_hanging_job_does_not_hold_us(jobs, qtbot):
    release = threading.Event()
    delivered = []
    jobs.run(lambda: release.wait(10), delivered.append, delivered.append)
    start = time.monotonic()
    assert not jobs.close(timeout=0.1)
    assert time.monotonic() - start < 5
    release.set()
    qtbot.wait(50)
    assert not delivered
