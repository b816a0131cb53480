"""Background work comes back on the right thread, or says why it failed."""

from __future__ import annotations

import threading
import time

import pytest

from app.background_jobs import Jobs
from app.errors import Problem


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


def test_how_a_failure_came_about_is_put_into_words_off_the_gui_thread(jobs, qtbot, monkeypatch):
    writers: list[int] = []
    monkeypatch.setattr(
        "app.errors.traceback.format_exception",
        lambda exc: [f"{exc!r}, {writers.append(threading.get_ident())}"],
    )
    problems: list[Problem] = []
    jobs.run(
        lambda: 1 // 0, pytest.fail, lambda exc: problems.append(Problem.of(exc, failure="it"))
    )
    qtbot.waitUntil(lambda: bool(problems), timeout=2000)
    assert "ZeroDivisionError" in problems[0].details
    assert threading.get_ident() not in writers


def test_work_that_follows_work_needs_no_new_thread(jobs, qtbot):
    workers: list[int] = []
    for count in range(1, 6):
        jobs.run(threading.get_ident, workers.append, workers.append)
        qtbot.waitUntil(lambda count=count: len(workers) == count, timeout=2000)
        qtbot.waitUntil(lambda: jobs._idle._value > 0, timeout=2000)
    assert len(set(workers)) == 1


def test_work_does_not_wait_for_other_work(jobs, qtbot):
    release, done = threading.Event(), []
    for _ in range(3):
        jobs.run(lambda: release.wait(10), done.append, done.append)
    jobs.run(lambda: "at once", done.append, done.append)
    qtbot.waitUntil(lambda: done == ["at once"], timeout=2000)
    release.set()
    qtbot.waitUntil(lambda: len(done) == 4, timeout=2000)
    assert jobs.close()


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
