"""Styles, pictures and looks share one place below the picture."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.app.ui.window.conftest import press
from utils.images.writing import write_pixels


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "pictures"
    place.mkdir()
    for number in range(3):
        write_pixels(place / f"{number}.png", np.full((48, 64, 3), 80 * number, np.uint8))
    return place


@pytest.fixture
def opened(window, session, folder, qtbot):
    session.open(str(folder))
    qtbot.waitUntil(lambda: window.film_strip.strip.isVisible())
    return window


def shown(window) -> list[str]:
    strips = {
        "gallery": window.gallery,
        "film_strip": window.film_strip.strip,
        "looks": window.looks.strip,
    }
    return [key for key, strip in strips.items() if strip.isVisible()]


def test_a_single_strip_has_no_tabs(window):
    assert shown(window) == ["gallery"]
    assert not window.strips.bar.isVisible()


def test_opened_pictures_come_before_the_styles(opened):
    assert shown(opened) == ["film_strip"]
    assert opened.strips.bar.isVisible()
    assert opened.strips.bar.count() == 2


def test_a_click_on_a_tab_changes_the_strip(opened):
    place = opened.strips.bar.tabRect(0).center()
    QTest.mouseClick(opened.strips.bar, Qt.MouseButton.LeftButton, pos=place)
    assert shown(opened) == ["gallery"]


@pytest.mark.parametrize(("key", "others"), [("gallery", ["film_strip"]), ("looks", [])])
def test_a_key_brings_its_strip_to_the_front_and_then_hides_it(opened, key, others):
    press(opened, key)
    assert shown(opened) == [key]
    assert opened.actions_by_key[key].isChecked()
    press(opened, key)
    assert not opened.actions_by_key[key].isChecked()
    assert shown(opened) == (others or ["gallery"])


def test_the_styles_return_when_a_single_picture_opens(opened, session, picture, qtbot):
    session.open(str(picture))
    qtbot.waitUntil(lambda: shown(opened) == ["gallery"])
    assert not opened.strips.bar.isVisible()


def test_the_picture_is_as_high_with_one_strip_as_with_all(opened, qtbot):
    press(opened, "looks")
    qtbot.wait(50)
    with_looks = opened.viewport.height()
    press(opened, "gallery")
    qtbot.wait(50)
    assert abs(opened.viewport.height() - with_looks) < opened.gallery.height() / 2


def test_a_search_for_styles_brings_them_to_the_front(opened):
    press(opened, "search_styles")
    assert shown(opened) == ["gallery"]
    assert opened.gallery.search.hasFocus()
