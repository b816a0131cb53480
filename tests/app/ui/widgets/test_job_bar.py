"""The bar of long work names what is running and cancels it once."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.ui.widgets.job_bar import JobBar


@pytest.fixture
def bar(qtbot) -> JobBar:
    window = QWidget()
    qtbot.addWidget(window)
    bar = JobBar(window)
    window.show()
    bar.window_of_test = window  # type: ignore[attr-defined]  (or it would be deleted)
    return bar


def test_work_that_takes_a_while_is_told_until_it_ends(bar, qtbot):
    bar.show_progress("Making a style")
    assert not bar.isVisible()
    qtbot.waitUntil(bar.isVisible)
    bar.show_progress("Making a style: saving")
    assert bar.isVisible()
    assert bar.accessibleDescription() == bar.text == "Making a style: saving"
    bar.show_progress("")
    assert not bar.isVisible()
    assert bar.text == ""


def test_work_that_ends_at_once_is_not_told(bar, qtbot):
    bar._delay.setInterval(20)
    bar.show_progress("Making a style")
    bar.show_progress("")
    qtbot.wait(60)
    assert not bar.isVisible()


def test_it_is_canceled_once_and_the_next_work_again(bar, qtbot):
    canceled: list[bool] = []
    bar.canceled.connect(lambda: canceled.append(True))
    bar.show_progress("Making a style")
    qtbot.waitUntil(bar.isVisible)
    for _ in range(2):
        QTest.mouseClick(bar.cancel, Qt.MouseButton.LeftButton)
    assert canceled == [True]
    bar.show_progress("")
    bar.show_progress("Another")
    assert bar.cancel.isEnabled()
