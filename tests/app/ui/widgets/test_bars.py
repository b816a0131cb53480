"""Toasts, questions and boxes: their messages, and their single answer."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from app.errors import Problem
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.question_card import QuestionCard
from app.ui.widgets.toast import Toast
from app.ui.widgets.toasts import NoticeToast, ProblemToast


@pytest.fixture
def problems(qtbot) -> ProblemToast:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    bar = ProblemToast(parent)
    Toast(bar, parent=parent)
    bar.keep_alive = parent  # type: ignore[attr-defined]
    return bar


def test_problems_queue_with_a_counter_and_are_dismissed_one_by_one(problems):
    first, second = Problem("one", "trace"), Problem("two")
    for problem in (first, second, first):
        problems.add(problem)
    assert problems.problems == (second, first)
    assert problems.isVisible()
    assert problems.accessibleDescription() == "one", "it was the last that happened"
    assert any(label.text() == "1 of 2" for label in problems.findChildren(QLabel))
    problems.dismiss()
    assert problems.accessibleDescription() == "two"
    problems.dismiss()
    assert not problems.isVisible()
    problems.dismiss()


def test_the_details_of_a_problem_can_be_copied(problems):
    problems.add(Problem("Could not open 'a.jpg'", "Traceback: line 1"))
    problems.copy_details()
    assert QGuiApplication.clipboard().text() == "Could not open 'a.jpg'\n\nTraceback: line 1\n"


def test_a_problem_says_what_to_do_next(problems):
    problems.add(Problem("Could not open 'a.jpg'", "Traceback", "Open another one."))
    assert any(
        label.text() == "Could not open 'a.jpg'\nOpen another one."
        for label in problems.findChildren(QLabel)
    )
    assert problems.accessibleDescription() == "Could not open 'a.jpg' Open another one."
    problems.copy_details()
    said = "Could not open 'a.jpg'\n\nOpen another one.\n\nTraceback\n"
    assert QGuiApplication.clipboard().text() == said


def test_a_notice_goes_by_itself_and_a_state_stays(qtbot, monkeypatch):
    monkeypatch.setattr("app.ui.widgets.toasts.NOTICE_MS", 30)
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(400, 200)
    field = QLineEdit(parent)
    parent.show()
    field.setFocus()
    bar = NoticeToast(parent)
    Toast(bar, parent=parent)
    bar.move(0, 100)  # away from the pointer, which would keep the notice open
    bar.show_state("The camera was unplugged")
    bar.show_notice("Saved it")
    assert bar.text == "Saved it"
    qtbot.waitUntil(lambda: bar.text == "The camera was unplugged", timeout=2000)
    qtbot.wait(60)
    assert bar.isVisible()
    bar.show_state("")
    assert not bar.isVisible()


def test_a_question_gives_its_answer_once_and_a_no_gives_none(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    bar = QuestionCard(parent)
    answers: list[str] = []
    bar.ask("Install?", "&Install", answers.append, label="&Title:", text="Waves")
    assert bar.field.accessibleName() == "Title"
    QTest.keyClicks(bar.field, "Big ")
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert answers == ["Big"]  # typing replaced the selected text
    assert not bar.isVisible()
    bar.ask("Remove?", "&Remove", answers.append)
    assert not bar.field.isVisible()
    bar.dismiss()
    bar.accept.click()
    assert answers == ["Big"]


def test_a_choice_box_speaks_only_when_the_user_does(qtbot):
    box = OptionBox("Precision", "tip")
    qtbot.addWidget(box)
    box.set_options([Choice(1, "One"), Choice(2, "Two", "slower here")])
    picked: list[object] = []
    box.picked.connect(picked.append)
    box.show_choice(2)
    assert (box.currentText(), box.remark, picked) == ("Two", "slower here", [])
    box.set_options([Choice(2, "Two"), Choice(3, "Three")])
    assert (box.currentText(), box.remark) == ("Two", "")
    QTest.keyClick(box, Qt.Key.Key_Down)
    assert picked == [3]
    box.show_choice("gone")
    assert box.currentIndex() == -1


def test_a_long_summary_is_cut_and_its_details_are_whole(problems):
    problems.add(Problem("missing " + "res1.conv1.conv2d.weight, " * 60, "trace"))
    assert len(problems._text.text()) < 500
    problems.copy_details()
    assert QGuiApplication.clipboard().text().count("res1.conv1") == 60
