"""For a large frame the window paints the scaled styled picture, in every view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage

from app.engine.engine import Engine
from app.frame import Frame
from app.live.display_copy import MANY_PIXELS, full_size
from app.live.session import Session
from app.settings import Settings
from app.ui.main_window import MainWindow
from tests.conftest import picture
from tests.helpers.sessions import end
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels
from utils.opencv import cv2

SIZES = {1.0: (1250, 800), 4.1: (2480, 1654), 8.3: (3840, 2160), 24.0: (6000, 4000)}
Pixels = NDArray[np.uint8]


def daily(*megapixels: float) -> pytest.MarkDecorator:
    """Parametrize a test by all sizes; those that are not named are full."""
    full = pytest.mark.full
    sizes = [pytest.param(size, marks=() if size in megapixels else full) for size in SIZES]
    return pytest.mark.parametrize("megapixels", sizes)


@pytest.fixture
def session(qtbot, catalog, config, native_kernels):
    session = Session(catalog, config)
    yield session
    end(session)


@pytest.fixture
def window(session, qtbot):
    settings = Settings(overlay=False, show_gallery=False, show_panel=False)
    window = MainWindow(session, settings, lambda _: None)
    qtbot.addWidget(window)
    window.resize(1280, 800)
    show_window(window, qtbot)
    return window


def painted(window, place: QRect) -> Pixels:
    """Return the viewport's pixels at `place`, [H, W, 3]."""
    image = window.viewport.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    pixels = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)
    inner = place.adjusted(4, 4, -4, -4)  # without the borders, where a pixel is only half covered
    return pixels[inner.top() : inner.bottom() + 1, inner.left() : inner.right() + 1].copy()


def small(pixels: Pixels, place: QRect) -> Pixels:
    size = place.width(), place.height()
    scaled = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return np.asarray(scaled, np.uint8)[4:-4, 4:-4]


def differ(a: Pixels, b: Pixels) -> float:
    return float(np.abs(a.astype(int) - b).mean())


def on_screen(window) -> bool:
    return window.viewport.styled is not None and not window.viewport._unpainted


def open_picture(window, qtbot, path, size):
    write_pixels(path, picture(*size))
    window.session.open(str(path))
    qtbot.waitUntil(lambda: on_screen(window), timeout=30_000)
    styled = window.viewport.styled
    assert (styled.frame.width, styled.frame.height) == size
    return styled


def as_engine_makes_it(catalog, config, frame: Pixels) -> Pixels:
    engine = Engine(catalog)
    engine.configure(config)
    return engine.process(Frame(frame)).frame.pixels


@daily(8.3)
def test_a_picture_is_painted_as_it_is_styled(window, catalog, config, qtbot, tmp_path, megapixels):
    size = SIZES[megapixels]
    styled = open_picture(window, qtbot, tmp_path / "photo.png", size)
    place = window.viewport._picture
    expected = small(as_engine_makes_it(catalog, config, picture(*size)), place)
    assert differ(painted(window, place), expected) < 2
    assert differ(small(styled.source.pixels, place), expected) > 10, "the test can tell"


@daily(4.1)
def test_a_split_has_the_original_left_and_the_styled_right(window, qtbot, tmp_path, megapixels):
    styled = open_picture(window, qtbot, tmp_path / "photo.png", SIZES[megapixels])
    window.views.choose("split")
    place = window.viewport._picture
    pixels, middle = painted(window, place), place.width() // 2
    source, result = small(styled.source.pixels, place), small(styled.frame.pixels, place)
    top = slice(0, place.height() // 3)  # above the knob and the titles
    left, right = (top, slice(0, middle - 20)), (top, slice(middle + 20, None))
    assert differ(pixels[left], source[left]) < 2
    assert differ(pixels[right], result[right]) < 2
    assert differ(source[right], result[right]) > 10


@pytest.mark.full
@daily(1.0, 4.1)
def test_a_comparison_paints_both_styled_pictures(
    window, session, qtbot, tmp_path, megapixels, monkeypatch
):
    places: list[tuple[Frame, QRect]] = []
    draw = window.viewport._draw
    monkeypatch.setattr(
        window.viewport,
        "_draw",
        lambda painter, frame, place: (places.append((frame, place)), draw(painter, frame, place)),
    )
    window.views.choose("compare")
    styled = open_picture(window, qtbot, tmp_path / "photo.png", SIZES[megapixels])
    session.shutdown()  # the picture does not change from here on
    places.clear()
    window.viewport.grab()
    styled = window.viewport.styled
    assert [frame for frame, _ in places] == [styled.comparison.baseline, styled.comparison.fused]
    for frame, place in places[:2]:
        pixels = painted(window, place)
        half = slice(place.height() // 2, None)  # below the titles
        # At a sixth of the size, interpolated means of blocks are a little softer than exact means.
        assert differ(pixels[half], small(frame.pixels, place)[half]) < 4
        assert differ(pixels[half], small(styled.source.pixels, place)[half]) > 10


@pytest.mark.full
@daily(4.1)
def test_a_film_is_painted_as_it_is_styled(window, catalog, config, qtbot, tmp_path, megapixels):
    size = SIZES[megapixels]
    path = tmp_path / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 25, size)
    assert writer.isOpened()
    for _ in range(2):
        writer.write(picture(*size)[..., ::-1].copy())
    writer.release()
    window.session.open(str(path))
    qtbot.waitUntil(lambda: on_screen(window), timeout=30_000)
    styled, place = window.viewport.styled, window.viewport._picture
    whole = (styled.captured or styled.source).pixels
    assert whole.shape == (size[1], size[0], 3)
    expected = as_engine_makes_it(catalog, config, whole)
    assert differ(painted(window, place), small(expected, place)) < 4
    assert differ(small(whole, place), small(expected, place)) > 10, "the test can tell"
    saved = full_size(styled)
    assert saved.shape == whole.shape
    assert differ(saved, expected) < 4


@pytest.mark.full
def test_a_stream_is_worked_on_in_the_size_it_is_shown_and_in_its_own_while_held(
    window, session, qtbot, tmp_path
):
    path = tmp_path / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 25, (3840, 2160))
    for _ in range(3):
        writer.write(picture(3840, 2160))
    writer.release()
    problems: list[str] = []
    session.problem.connect(lambda problem: problems.append(problem.details))
    session.open(str(path))
    qtbot.waitUntil(lambda: window.viewport.styled is not None, timeout=30_000)
    width, height = window.viewport.styled.frame.width, window.viewport.styled.frame.height
    # the window has fewer pixels; half as many would be too few
    assert (width, height) == (1280, 720)
    session.hold(True)
    qtbot.waitUntil(
        lambda: bool(problems) or window.viewport.styled.frame.width == 3840, timeout=30_000
    )
    assert not problems
    assert window.viewport.styled.captured is None
    session.hold(False)
    qtbot.waitUntil(lambda: problems or window.viewport.styled.frame.width == 1280, timeout=30_000)
    assert not problems
    session.paused = True  # a still picture gets all its pixels
    qtbot.waitUntil(
        lambda: bool(problems) or window.viewport.styled.frame.width == 3840, timeout=30_000
    )


def test_a_frame_that_is_restyled_with_other_pixels_has_no_small_copy_of_the_old_ones():
    screen = np.zeros((24, 32, 4), np.uint8)
    frame = Frame(picture(64, 48), preview=Frame(picture(32, 24)), screen=screen)
    other = frame.with_pixels(255 - frame.pixels)
    assert (other.preview, other.screen) == (None, None)
    assert frame.width * frame.height < MANY_PIXELS
    assert replace(frame, index=3).preview is frame.preview
