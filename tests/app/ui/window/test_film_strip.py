"""A strip below the picture shows a folder's pictures, styled as they scroll into view."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget

from app.engine.config import EngineConfig
from app.errors import StyleForgeError
from app.ui.film_strip import thumbnails
from app.ui.film_strip.controller import StripPainter, small_config
from app.ui.film_strip.strip import FilmStrip
from app.ui.film_strip.thumbnails import SCALE, SIZE, Pixels, StripThumbnails, read_small
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press
from utils.images.writing import write_pixels

COUNT = 30


class Negatives:
    """A painter of negatives that fails or waits on demand."""

    def __init__(self) -> None:
        self.painted = 0
        self.fault = ""
        self.at_once = 0  # calls in flight
        self.most_at_once = 0
        self._lock = threading.Lock()

    def look(self, config: EngineConfig) -> Hashable:
        return config.style

    def paint(self, config: EngineConfig, pixels: Pixels) -> Pixels:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        if self.fault:
            raise StyleForgeError(self.fault)
        self.painted += 1
        with self._lock:
            self.at_once -= 1
        # Candy is the negative; every other style is black.
        return 255 - pixels if config.style == "candy" else np.zeros_like(pixels)


@pytest.fixture
def painter(window) -> Negatives:
    window.film_strip.painter = painter = Negatives()
    return painter


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "holiday"
    folder.mkdir()
    for number in range(COUNT):
        pixels = np.full((48, 64, 3), (8 * number, 0, 0), np.uint8)
        write_pixels(folder / f"{number}.png", pixels)
    return folder


@pytest.fixture
def opened(window, session, painter, folder, qtbot) -> MainWindow:
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(folder))
    qtbot.waitUntil(lambda: window.film_strip.strip.isVisible(), timeout=5000)
    return window


def strip(window: MainWindow) -> FilmStrip:
    return window.film_strip.strip


def rgb(image: QImage, place: QPoint) -> tuple[int, int, int]:
    shown = image.pixelColor(place)
    return shown.red(), shown.green(), shown.blue()


def color(window: MainWindow, row: int) -> tuple[int, ...] | None:
    shown = strip(window).model.index(row).data(Qt.ItemDataRole.DecorationRole)
    if not isinstance(shown, QPixmap) or shown.isNull():
        return None
    return rgb(shown.toImage(), QPoint(20, 20))


def test_the_pictures_of_a_folder_are_listed_in_their_order(opened):
    model = strip(opened).model
    assert [model.index(row).data() for row in range(COUNT)] == [f"{n}.png" for n in range(COUNT)]
    told = model.index(2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert told == f"2.png, 3 of {COUNT}"


def test_thumbnails_in_view_are_styled_and_those_out_of_view_are_not_made(opened, painter, qtbot):
    qtbot.waitUntil(lambda: color(opened, 1) == (247, 255, 255), timeout=10_000)
    qtbot.wait(500)
    in_view = strip(opened).view.width() // SIZE.width() + 2
    assert painter.painted <= in_view + 1 < COUNT
    assert painter.most_at_once == 1


def test_a_click_chooses_a_picture(opened, session, qtbot):
    view = strip(opened).view
    place = view.visualRect(strip(opened).model.index(3)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: session.info.title == "3.png", timeout=5000)


def test_arrow_keys_on_the_strip_choose_a_picture(opened, session, qtbot):
    view = strip(opened).view
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: session.info.title == "1.png", timeout=5000)
    QTest.keyClick(view, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: session.info.title == "2.png", timeout=5000)
    assert session.position == 2


def test_the_strip_follows_the_picture(opened, session, qtbot):
    session.seek(25)
    qtbot.waitUntil(lambda: strip(opened).view.currentIndex().row() == 25, timeout=5000)
    shown = strip(opened).view.visualRect(strip(opened).model.index(25))
    assert strip(opened).view.viewport().rect().contains(shown.center())


def test_the_bar_counts_to_the_picture_that_is_open(opened, session, qtbot):
    for place in (25, 3):
        session.seek(place)
        qtbot.waitUntil(lambda at=place: session.info.title == f"{at}.png", timeout=5000)
        words = f"{place + 1} of {COUNT}"
        qtbot.waitUntil(lambda said=words: said in labels(opened.playback_bar), timeout=5000)
        qtbot.wait(100)
        assert words in labels(opened.playback_bar)


def test_pictures_have_no_rate(opened, session, qtbot):
    for place in range(1, 5):
        with qtbot.waitSignal(session.styled, timeout=5000):
            session.seek(place)
    assert session.metrics.stats(time.perf_counter()).displayed_fps > 0
    opened.badge.refresh()
    assert not opened.badge.isVisible()


def labels(widget: QWidget) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel)]


def test_another_style_styles_the_thumbnails_anew(opened, qtbot):
    qtbot.waitUntil(lambda: color(opened, 0) == (255, 255, 255), timeout=10_000)
    press(opened, "style_2")
    qtbot.waitUntil(lambda: color(opened, 0) == (0, 0, 0), timeout=10_000)


def test_a_key_hides_the_strip_and_that_is_remembered(opened, saved):
    press(opened, "film_strip")
    assert not strip(opened).isVisible()
    opened.close()
    assert not saved[-1].show_strip


def test_for_a_single_picture_there_is_no_strip(opened, session, picture, qtbot):
    session.open(str(picture))
    qtbot.waitUntil(lambda: not strip(opened).isVisible(), timeout=5000)


def test_several_files_are_a_strip_too(window, session, painter, folder, qtbot):
    session.open([str(folder / "5.png"), str(folder / "2.png")])
    qtbot.waitUntil(lambda: strip(window).isVisible(), timeout=5000)
    assert strip(window).model.index(0).data() == "5.png"
    assert strip(window).model.rowCount() == 2


def test_a_style_that_fails_leaves_plain_thumbnails_and_the_strip_says_why(opened, painter, qtbot):
    painter.fault = "there is not enough memory"
    press(opened, "style_3")
    tip = strip(opened).view.toolTip
    qtbot.waitUntil(
        lambda: "does not style them: there is not enough memory" in tip(), timeout=10_000
    )
    assert not opened.problems.problems
    assert color(opened, 0) is not None


def test_a_damaged_picture_is_said_to_be_damaged(window, session, painter, folder, qtbot):
    (folder / "1.png").write_bytes((folder / "1.png").read_bytes()[:60])
    session.open(str(folder))
    qtbot.waitUntil(lambda: strip(window).isVisible(), timeout=5000)
    index = strip(window).model.index(1)

    def null() -> bool:
        shown = index.data(Qt.ItemDataRole.DecorationRole)
        return isinstance(shown, QPixmap) and shown.isNull()

    qtbot.waitUntil(null, timeout=10_000)


def test_memory_is_bounded_however_many_pictures_are_seen(opened, monkeypatch, qtbot):
    monkeypatch.setattr(thumbnails, "MOST_KEPT", 16)
    monkeypatch.setattr(thumbnails, "MOST_WANTED", 12)
    kept = opened.film_strip.thumbnails
    for first in range(0, COUNT, 5):
        opened.session.seek(first)
        qtbot.wait(150)
    for row in range(COUNT):
        strip(opened).model.index(row).data(Qt.ItemDataRole.DecorationRole)
    qtbot.waitUntil(lambda: not kept._working and not kept._wanted, timeout=20_000)
    assert 12 <= kept.kept <= 16


def test_closing_the_window_ends_the_work(opened):
    opened.close()
    assert opened.film_strip.thumbnails._wanted == []


# Thumbnails alone


def test_a_thumbnail_is_cropped_to_its_shape(tmp_path):
    pixels = np.zeros((400, 100, 3), np.uint8)
    pixels[180:220] = 255
    write_pixels(tmp_path / "tall.png", pixels)
    small = read_small(tmp_path / "tall.png")
    assert small is not None
    assert small.shape == (SIZE.height() * SCALE, SIZE.width() * SCALE, 3)
    assert small[small.shape[0] // 2].min() > 200
    assert small[0].max() < 50


def test_the_newest_request_is_made_first(qtbot, tmp_path):
    asked: list[Path] = []

    def run(work, done, *, failure):
        asked.append(work)

    made = StripThumbnails(run)
    for number in range(100):
        made.get(tmp_path / str(number))
    assert len(asked) == 1
    assert len(made._wanted) == thumbnails.MOST_WANTED
    assert made._wanted[-1].name == "99"


def test_thumbnails_are_painted_by_the_processor_at_their_own_size():
    config = small_config(EngineConfig(device="cuda:0", size=2048, smoothing=0.5, strength=0.7))
    assert (config.device, config.size, config.smoothing) == ("cpu", 176, 0.0)
    assert config.strength == 0.7


def test_thumbnails_show_the_whole_painting_whatever_part_of_the_picture_is_painted():
    config = EngineConfig(device="cpu")
    masked = replace(config, paint="person", matte="a.mask", feather=0.5, swap_matte=True)
    assert small_config(masked) == small_config(config)
    assert (small_config(masked).paint, small_config(masked).matte) == ("all", "")


@pytest.mark.slow
def test_a_real_style_paints_a_thumbnail():
    from app.styles.catalog import Catalog

    ramp = np.linspace(0, 255, SIZE.width() * SCALE).astype(np.uint8)
    pixels = np.repeat(np.tile(ramp, (SIZE.height() * SCALE, 1))[..., None], 3, axis=2)
    painted = StripPainter(Catalog.default()).paint(EngineConfig(style="candy"), pixels)
    assert painted.shape == pixels.shape
    assert np.abs(painted.astype(int) - pixels).mean() > 10


def test_the_strip_paints_what_it_has(opened, qtbot):
    qtbot.waitUntil(lambda: color(opened, 0) == (255, 255, 255), timeout=10_000)
    view = strip(opened).view
    place = view.visualRect(strip(opened).model.index(0)).center()
    shown = view.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    assert rgb(shown, place) == (255, 255, 255)
