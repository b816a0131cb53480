"""Searching the gallery, and arranging it by hand."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.ui.gallery.about import AboutStyle
from app.ui.gallery.cards_view import MIME
from app.ui.widgets.style_list import HEADING, HEADING_WIDTH, card_place, star_place
from tests.app.ui.window.conftest import press


@pytest.fixture
def window(window):
    window.resize(1280, 800)
    return window


def area(window, key: str):
    return window.gallery.view.visualRect(
        window.gallery.model.index(window.gallery.keys.index(key))
    )


def index(window, key: str):
    return window.gallery.model.index(window.gallery.keys.index(key))


def drop(window, key: str, place: QPoint) -> None:
    data = QMimeData()
    data.setData(MIME, key.encode())
    none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    window.gallery.view.dropEvent(QDropEvent(QPointF(place), Qt.DropAction.MoveAction, data, *none))


def test_the_search_shows_the_styles_with_these_words(window, qtbot):
    press(window, "search_styles")
    assert window.focusWidget() is window.gallery.search
    QTest.keyClicks(window.gallery.search, "MOS")
    assert window.gallery.keys == ["mosaic"]
    window.gallery.search.clear()
    assert window.gallery.keys == ["candy", "mosaic", "udnie"]


def test_a_search_changes_no_style(window, session):
    window.gallery.search.setText("mosaic")
    assert session.config.style == "candy"


def test_a_favorite_comes_first_and_is_kept(window, session):
    session.config = session.config.mixed([("udnie", 1.0)])
    press(window, "favorite_style")
    assert window.gallery.keys == ["udnie", "candy", "mosaic"]
    assert window.settings.current().favorite_styles == "udnie"
    index = window.gallery.model.index(0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Udnie, key 1, favorite"
    press(window, "favorite_style")
    assert window.gallery.keys == ["candy", "mosaic", "udnie"]


def test_a_click_on_the_star_makes_a_favorite_and_chooses_nothing(window, session):
    place = star_place(area(window, "mosaic")).center()
    view = window.gallery.view.viewport()
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert window.gallery.keys == ["mosaic", "candy", "udnie"]
    assert session.config.style == "candy"


def test_number_keys_follow_the_order_that_is_shown(window, session):
    window.styles.arranging.toggle_favorite("udnie")
    press(window, "style_1")
    assert session.config.style == "udnie"


def test_keys_move_the_chosen_style(window):
    press(window, "move_style_right")
    assert window.gallery.keys == ["mosaic", "candy", "udnie"]
    press(window, "move_style_right")
    press(window, "move_style_right")  # it is already the last one
    assert window.gallery.keys == ["mosaic", "udnie", "candy"]
    press(window, "move_style_left")
    assert window.settings.current().style_order.split("\n") == ["mosaic", "candy", "udnie"]


def test_a_card_is_dragged_between_others(window, session):
    drop(window, "udnie", area(window, "mosaic").topLeft() + QPoint(2, 30))
    assert window.gallery.keys == ["candy", "udnie", "mosaic"]
    drop(window, "candy", area(window, "mosaic").topRight() + QPoint(30, 30))
    assert window.gallery.keys == ["udnie", "mosaic", "candy"]
    assert session.config.style == "candy"


def test_a_press_alone_chooses_nothing_since_a_drag_may_follow(window, session):
    view, place = window.gallery.view.viewport(), area(window, "mosaic").center()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=place)
    assert session.config.style == "candy"
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=place)
    assert session.config.style == "mosaic"


def test_about_tells_painting_license_and_training(window, session, qtbot, tmp_path):
    spec = tmp_path / "builtin" / "candy" / "style.toml"
    spec.write_text(
        'title = "Candy"\nweights = "weights.safetensors"\ncredit = "after a painting"\n'
        'licence = "CC0"\n[training_1]\niterations = 9000\nphotographs = 988\nseconds = 240.0\n'
        '[training_2]\niterations = 1000\nphotographs = 988\nseconds = 60.0\ndevice = "a GPU"\n'
    )
    session.catalog.reload()
    press(window, "about_style")
    qtbot.waitUntil(lambda: bool(window.findChildren(AboutStyle)))
    dialog = window.findChildren(AboutStyle)[0]
    said = [label.text() for label in dialog.findChildren(QLabel)]
    for text in (
        "after a painting",
        "CC0",
        "10,000 steps with 988 photographs in 5 minutes on a GPU",
    ):
        assert text in said
    dialog.close()


def put_into(window, session, style: str, group: str) -> None:
    session.config = session.config.mixed([(style, 1.0)])
    press(window, "group_style")
    assert window.focusWidget() is window.questions.field
    window.questions.field.clear()
    QTest.keyClicks(window.questions.field, group)
    QTest.keyClick(window.questions.field, Qt.Key.Key_Return)


def headings(window) -> list[str]:
    model = window.gallery.model
    return [model.index(row).data(HEADING) for row in range(model.rowCount())]


def test_a_style_is_put_into_a_group_that_has_a_heading(window, session):
    assert headings(window) == ["", "", ""]
    narrow = area(window, "candy").width()
    put_into(window, session, "candy", "Sweets")
    assert window.gallery.keys == ["mosaic", "udnie", "candy"]
    assert headings(window) == ["Others", "", "Sweets"]
    assert area(window, "candy").width() == narrow + HEADING_WIDTH
    assert window.settings.current().style_groups == "candy Sweets"
    put_into(window, session, "candy", "")
    assert headings(window) == ["", "", ""]


def test_a_group_is_completed_to_one_that_there_is(window, session):
    put_into(window, session, "candy", "Sweets")
    session.config = session.config.mixed([("udnie", 1.0)])
    press(window, "group_style")
    QTest.keyClicks(window.questions.field, "Sw")
    assert window.questions.field.completer().currentCompletion() == "Sweets"


def test_favorites_are_a_group(window, session):
    session.config = session.config.mixed([("udnie", 1.0)])
    press(window, "favorite_style")
    assert headings(window) == ["Favorites", "Others", ""]
    assert window.gallery.keys == ["udnie", "candy", "mosaic"]


def test_a_card_that_is_dropped_among_those_of_a_group_joins_it(window, session):
    put_into(window, session, "candy", "Sweets")
    place = card_place(
        area(window, "candy"), index(window, "candy"), Qt.LayoutDirection.LeftToRight
    )
    drop(window, "mosaic", place.topLeft() + QPoint(3, 20))
    assert window.gallery.keys == ["udnie", "mosaic", "candy"]
    assert headings(window) == ["Others", "Sweets", ""]


def test_a_card_that_keys_move_past_its_group_joins_the_next(window, session):
    put_into(window, session, "udnie", "Sea")
    session.config = session.config.mixed([("mosaic", 1.0)])
    press(window, "move_style_right")
    assert window.gallery.keys == ["candy", "udnie", "mosaic"]
    assert headings(window) == ["Others", "Sea", ""]
    press(window, "move_style_left")
    assert window.gallery.keys == ["candy", "mosaic", "udnie"]
    assert headings(window) == ["Others", "Sea", ""]


def test_the_star_of_a_card_lies_beside_its_heading(window, session):
    put_into(window, session, "candy", "Sweets")
    place = card_place(
        area(window, "candy"), index(window, "candy"), Qt.LayoutDirection.LeftToRight
    )
    QTest.mouseClick(
        window.gallery.view.viewport(),
        Qt.MouseButton.LeftButton,
        pos=star_place(place).center(),
    )
    assert window.settings.current().favorite_styles == "candy"
