"""A row of the list is one sentence for screen readers, whatever it looks like."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.speed_test.result import Row
from app.ui.speed_test.rows import RowList
from tests.app.speed_test.results import PLAIN, RESULT
from tests.helpers.errors import mentions


@pytest.fixture
def rows(qtbot) -> RowList:
    rows = RowList()
    qtbot.addWidget(rows)
    rows.resize(460, 180)
    return rows


def said(rows: RowList, number: int, role=Qt.ItemDataRole.DisplayRole) -> str:
    return str(rows.rows_model.data(rows.rows_model.index(number), role))


def test_each_row_says_its_engine_and_figures(rows):
    rows.rows_model.show_rows(RESULT.rows)
    assert rows.rows_model.rowCount() == len(RESULT.rows)
    assert mentions(said(rows, 1), "StyleForge, CPU", "50.0 ms", "20.0 fps", "8.00", PLAIN)
    assert mentions(said(rows, 0), "no CUDA device")


def test_rows_that_come_later_say_so(rows):
    waiting = (Row("a"), Row("b"))
    rows.rows_model.show_rows(waiting, 1)
    first, second = (said(rows, number) for number in range(2))
    assert first != second
    assert first != "a"
    rows.rows_model.show_rows(waiting)
    assert said(rows, 0) == "a"


def test_a_longer_reason_is_in_the_tooltip(rows):
    rows.rows_model.show_rows((Row("a", reason="not installed", detail="pip install a"),))
    assert said(rows, 0, Qt.ItemDataRole.ToolTipRole) == "Pip install a"


def test_the_list_paints_with_and_without_rows(rows):
    empty = rows.grab().toImage()
    rows.rows_model.show_rows(RESULT.rows)
    assert rows.grab().toImage() != empty
