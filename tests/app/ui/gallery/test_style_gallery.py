"""The gallery lets the user choose styles, names them and draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QHelpEvent, QImage, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton, QToolTip

from app.styles.pack import Style
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.widgets import style_list
from app.ui.widgets.style_list import painting_place, thumbnail_place


def at_once(work: Callable, done: Callable, *, failure: str) -> None:
    done(work())


def style(key: str, thumbnail: Path | None = None) -> Style:
    return Style(key, key.title(), Path("w.safetensors"), "by me", "CC0", "", thumbnail)


@pytest.fixture
def gallery(qtbot, tmp_path) -> StyleGallery:
    picture = tmp_path / "t.png"
    image = QImage(30, 10, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    assert image.save(str(picture))
    gallery = StyleGallery(at_once, [QToolButton()])
    qtbot.addWidget(gallery)
    gallery.set_styles((style("candy", picture), style("mosaic"), style("udnie")), "mosaic")
    gallery.resize(600, 140)
    gallery.show()
    return gallery


def test_the_gallery_marks_the_chosen_style_without_saying_so(gallery, qtbot):
    with qtbot.assertNotEmitted(gallery.chosen):
        gallery.mark_style("udnie")
    assert gallery.view.currentIndex().data() == "Udnie"


def test_clicking_a_style_chooses_it(gallery, qtbot):
    place = gallery.view.visualRect(gallery.model.index(0)).center()
    with qtbot.waitSignal(gallery.chosen) as blocker:
        QTest.mouseClick(gallery.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert blocker.args == ["candy"]


def test_arrow_keys_choose_styles(gallery, qtbot):
    with qtbot.waitSignal(gallery.chosen) as blocker:
        QTest.keyClick(gallery.view, Qt.Key.Key_Right)
    assert blocker.args == ["udnie"]


def test_the_next_style_wraps(gallery):
    assert gallery.neighbor(1) == "udnie"
    assert gallery.neighbor(2) == "candy"
    assert gallery.key_at(0) == "candy"
    assert gallery.key_at(9) == ""


def test_styles_have_names_for_screen_readers_and_credits_in_tooltips(gallery):
    index = gallery.model.index(0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Candy, key 1"
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "Candy\nby me", "the license is in About"


def test_the_tip_of_a_style_is_above_its_card_and_covers_no_name(gallery, qtbot):
    gallery.move(100, 400)
    view = gallery.view
    area = view.visualRect(gallery.model.index(0))
    place = view.viewport().mapToGlobal(area.center())
    asked = QHelpEvent(QEvent.Type.ToolTip, area.center(), place)
    QApplication.sendEvent(view.viewport(), asked)
    windows = QApplication.topLevelWidgets()
    (tip,) = (each for each in windows if each.inherits("QTipLabel") and each.isVisible())
    assert tip.geometry().bottom() < view.viewport().mapToGlobal(area.topLeft()).y()
    QToolTip.hideText()


def test_a_chosen_card_with_the_focus_has_one_frame(gallery, monkeypatch):
    framed = []
    monkeypatch.setattr(style_list, "paint_focus", lambda *given: framed.append(given))
    gallery.view.setFocus()
    gallery.view.setCurrentIndex(gallery.model.index(0))
    gallery.view.grab()
    assert framed == []


def test_the_gallery_draws_thumbnails_and_initials(gallery):
    image = gallery.grab().toImage()
    view = gallery.view
    first = view.viewport().mapTo(gallery, view.visualRect(gallery.model.index(0)).center())
    assert image.pixelColor(first - QPoint(0, 8)) == QColor("red")


@pytest.mark.parametrize("of_a_painting", [True, False], ids=["painting", "trained"])
def test_a_preview_leaves_the_painting_of_its_style_in_a_corner(gallery, tmp_path, of_a_painting):
    red = style("candy", tmp_path / "t.png")
    if of_a_painting:
        red = replace(red, picture=tmp_path / "t.png")
    gallery.set_styles((red,), "candy")
    blue = QPixmap(96, 72)
    blue.fill(QColor("blue"))
    gallery.model.set_preview("candy", blue)
    view, index = gallery.view, gallery.model.index(0)
    card = thumbnail_place(view.visualRect(index))
    image = view.viewport().grab().toImage()
    assert image.pixelColor(card.center()) == QColor("blue")
    corner = image.pixelColor(painting_place(card).center())
    assert corner == QColor("red" if of_a_painting else "blue")
    gallery.model.clear_previews()
    image = view.viewport().grab().toImage()
    assert image.pixelColor(card.center()) == QColor("red")
    assert index.data() == "Candy"
