"""The menu and an error copy a report while the window stays responsive."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtGui import QGuiApplication

from app.diagnostics.report_process import ReportError
from app.errors import Problem
from app.ui.support import report_copier
from app.ui.support.report_copier import COLLECTING, COPIED
from tests.app.ui.window.conftest import press


@pytest.fixture
def made(monkeypatch) -> threading.Event:
    """Return an event that lets the report finish."""
    may = threading.Event()

    def make_report() -> str:
        assert threading.current_thread() is not threading.main_thread()
        assert may.wait(10)
        return "StyleForge: report"

    monkeypatch.setattr(report_copier, "make_report", make_report)
    return may


def test_a_report_is_made_beside_the_stream_and_copied(window, saved, made, qtbot):
    action = window.actions_by_key["copy_report"]
    QGuiApplication.clipboard().setText("before")
    press(window, "copy_report")
    assert window.notices.text == COLLECTING
    assert not action.isEnabled()
    assert QGuiApplication.clipboard().text() == "before"
    made.set()
    qtbot.waitUntil(action.isEnabled)
    assert QGuiApplication.clipboard().text() == "StyleForge: report"
    assert window.notices.text == COPIED
    qtbot.waitUntil(lambda: bool(saved))


@pytest.mark.parametrize("of", ["window", "studio"])
def test_an_error_offers_a_report(window, made, qtbot, of):
    made.set()
    if of == "studio":
        press(window, "train")
        bar = window.training_launcher.window.problems
    else:
        bar = window.problems
    bar.add(Problem("Could not open it", at_fault=True))
    assert bar.report.isVisible()
    bar.report.click()
    qtbot.waitUntil(lambda: window.notices.text == COPIED)


def test_a_report_that_cannot_be_made_is_a_problem_and_can_be_tried_again(
    window, monkeypatch, qtbot
):
    def fail() -> str:
        raise ReportError("`styleforge doctor` failed: no memory")

    monkeypatch.setattr(report_copier, "make_report", fail)
    press(window, "copy_report")
    qtbot.waitUntil(lambda: bool(window.problems.problems))
    assert "no memory" in window.problems.problems[0].summary
    assert window.actions_by_key["copy_report"].isEnabled()


def test_problems_are_in_the_log(window, session, caplog):
    caplog.set_level("INFO")
    session.problem.emit(Problem("Could not open it", "trace"))
    assert "problem: Could not open it\ntrace" in caplog.text
