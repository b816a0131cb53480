"""The cards of the gallery show the user's own picture."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap

from app.live.previews.painter import Preview
from tests.app.ui.window.conftest import KEYS
from utils.images.writing import write_pixels


def colors(window) -> dict[str, str]:
    model, found = window.gallery.model, {}
    for key in window.gallery.keys:
        pixmap = model.index(model.row_of(key)).data(Qt.ItemDataRole.DecorationRole)
        if isinstance(pixmap, QPixmap):
            found[key] = pixmap.toImage().pixelColor(5, 5).name()
    return found


@pytest.fixture
def filled(streaming, qtbot):
    """Return the window once all cards show the negative of the open picture, which is red."""
    qtbot.waitUntil(lambda: set(colors(streaming)) == set(KEYS))
    return streaming


def test_nothing_but_the_thumbnail_is_shown_until_there_is_a_picture(window, qtbot):
    qtbot.wait(300)
    assert colors(window) == {}


def test_an_open_picture_is_shown_on_every_card(filled):
    assert set(colors(filled).values()) == {"#00ffff"}


def test_another_picture_takes_its_place_on_every_card(filled, session, tmp_path, qtbot):
    blue = np.zeros((48, 64, 3), np.uint8)
    blue[..., 2] = 255
    write_pixels(tmp_path / "blue.png", blue)
    session.open(str(tmp_path / "blue.png"))
    qtbot.waitUntil(lambda: set(colors(filled).values()) == {"#ffff00"})
    assert len(colors(filled)) == len(KEYS)


def test_a_hidden_gallery_asks_for_nothing(window, session, picture, qtbot):
    window.actions_by_key["gallery"].trigger()
    made: list[Preview] = []
    session.previews.made.connect(made.append)
    with qtbot.waitSignal(session.styled):
        session.open(str(picture))
    qtbot.wait(700)
    assert made == []
    window.actions_by_key["gallery"].trigger()
    qtbot.waitUntil(lambda: len(made) == len(KEYS))


@pytest.mark.full
def test_a_playing_film_comes_to_the_cards_too(moving, qtbot):
    qtbot.waitUntil(lambda: len(colors(moving)) == 1, timeout=9000)


def test_a_card_says_why_its_style_cannot_paint(window):
    window.session.previews.want(KEYS, 3)
    window.session.previews.take(Preview("mosaic", None, "its weights are damaged"))
    index = window.gallery.model.index(window.gallery.model.row_of("mosaic"))
    tip = index.data(Qt.ItemDataRole.ToolTipRole)
    assert "weights are damaged" in tip
