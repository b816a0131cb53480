"""Each drop-down shows all its rows; one longer than the screen scrolls."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.ui.main_window import MainWindow
from app.ui.training.window import TrainingWindow
from app.ui.widgets.option_box import Choice, OptionBox
from tests.helpers.windows import show_window


def unseen(box: OptionBox) -> list[str]:
    """Return the rows of the open list that are not wholly inside it."""
    view, model = box.view(), box.model()
    inside = view.viewport().rect()
    rows = range(box.count())
    return [
        box.itemText(row)
        for row in rows
        if not inside.contains(view.visualRect(model.index(row, box.modelColumn())))
    ]


def pop_up(box: OptionBox, qtbot) -> None:
    show_window(box.window(), qtbot)
    box.setFocus()

    def opened() -> bool:
        # A window manager may take the focus back once more, which closes the list.
        if not box.view().isVisible():
            QTest.keyClick(box, Qt.Key.Key_Space)
        return box.view().isVisible()

    qtbot.waitUntil(opened)
    qtbot.wait(30)  # scroll arrows appear a moment later


def boxes(window: MainWindow, studio: TrainingWindow) -> list[OptionBox]:
    studio.form.advanced_button.setChecked(True)
    parts = window.panel, window.engine_bar, studio.form
    return [box for part in parts for box in part.findChildren(OptionBox)]


@pytest.fixture
def studio(window, session):
    made = TrainingWindow(session, lambda: None, lambda **_: None, window.file_dialogs, window)
    made.show()
    yield made
    made.close()


def test_every_drop_down_shows_all_its_rows(window, studio, qtbot):
    found = boxes(window, studio)
    assert len(found) == 10
    for box in found:
        for _ in range(2):  # the second time, the list already exists
            pop_up(box, qtbot)
            assert unseen(box) == [], box.accessibleName()
            box.hidePopup()


def test_a_list_opens_below_its_box_or_above_where_the_screen_ends(window, qtbot):
    box = OptionBox("Sizes", "Choose one")
    qtbot.addWidget(box)
    box.set_options(Choice(number, str(number)) for number in range(5))
    box.show_choice(4)
    room = box.screen().availableGeometry()
    for y in (room.top() + 100, room.bottom() - 60):
        box.move(room.left() + 100, y)
        pop_up(box, qtbot)
        shown = box.view().window().geometry()
        top = box.mapToGlobal(QPoint()).y()
        below = shown.top() == top + box.height()
        above = shown.bottom() + 1 == top
        assert (below, above) == ((True, False) if y < room.center().y() else (False, True))
        box.hidePopup()


def test_rows_whose_remarks_wrap_are_shown_whole(window, qtbot):
    box = window.panel.brushwork
    words = "a remark that is far too long for one line of a list as narrow as the panel"
    box.set_options(Choice(n, f"Choice {n}", words) for n in range(5))
    pop_up(box, qtbot)
    view = box.view()
    line = view.fontMetrics().height()
    assert view.visualRect(box.model().index(0, 0)).height() > 3 * line
    assert unseen(box) == []
    box.hidePopup()


def test_a_list_longer_than_the_screen_ends_with_it_and_scrolls(window, qtbot):
    box = window.panel.brushwork
    box.set_options(Choice(n, f"Choice {n}", "with a remark") for n in range(60))
    pop_up(box, qtbot)
    view = box.view()
    assert view.window().height() <= box.screen().availableGeometry().height()
    QTest.keyClick(view, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: "Choice 59" not in unseen(box))
    box.hidePopup()
