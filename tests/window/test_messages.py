"""Messages: each comes where it is looked for, and goes when it is over or dismissed."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtGui import QGuiApplication

from app.problems import Problem
from tests.window.conftest import press


def test_very_long_words_do_not_widen_the_window(streaming):
    before = streaming.minimumSizeHint().width()
    streaming.problems.add(Problem(f"Could not open '{'z' * 250}.png'"))
    streaming.notices.show_notice("n" * 300)
    streaming.questions.ask(f"Install '{'y' * 240}.pth'?", "&Install", print, label="&Title:")
    assert streaming.minimumSizeHint().width() == before


def test_problems_come_in_the_bar_and_escape_dismisses_them(window, session):
    session.problem.emit(Problem("one", "trace"))
    session.problem.emit(Problem("two"))
    assert window.problems.isVisible()
    press(window, "copy_details")
    assert "trace" in QGuiApplication.clipboard().text()
    press(window, "back")
    press(window, "back")
    assert not window.problems.isVisible()


def test_a_source_that_is_away_is_said_until_it_is_back(window, session):
    session.source_status.emit("The camera was unplugged; waiting for it to come back.")
    assert window.notices.isVisible()
    session.source_status.emit("")
    assert not window.notices.isVisible()


def test_opening_is_announced_in_the_viewport(window, session):
    session.opening_changed.emit("Opening camera...")
    assert window.viewport.accessibleDescription() == "Opening camera..."
    session.opening_changed.emit("")
    assert window.viewport.accessibleDescription().startswith("Drop a picture")


def test_a_style_that_takes_long_is_announced(streaming, session, monkeypatch, qtbot):
    monkeypatch.setattr(session, "_configure", type("Never", (), {"emit": lambda *_: None})())
    session.config = replace(session.config, style="udnie")
    qtbot.waitUntil(lambda: streaming.viewport._waiting == "Loading Udnie...", timeout=2000)


def test_a_built_in_style_is_not_removed(window):
    press(window, "remove_style")
    assert window.notices.text == "Candy is built in and cannot be removed"
