"""The real window with the real engine and the bundled style, on real input."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest

from app.live.session import Session
from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.viewport.comparison import ratio_text
from models.precision import Precision
from tests.conftest import picture
from tests.helpers.fakes import NetworkCamera, write_video
from tests.helpers.sessions import end
from tests.helpers.windows import show_window
from utils.images.metadata import read_metadata
from utils.images.writing import write_pixels


@pytest.fixture
def session(qtbot, catalog, config, native_kernels):
    session = Session(catalog, config)
    yield session
    end(session)


@pytest.fixture
def window(session, qtbot):
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    return window


@pytest.fixture
def problems(session):
    said: list[str] = []
    session.problem.connect(lambda problem: said.append(problem.summary))
    return said


def drop(window, *paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    place = QPointF(window.viewport.rect().center())
    buttons = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    window.dropEvent(QDropEvent(place, Qt.DropAction.CopyAction, data, *buttons))


def on_screen(window, **wanted):
    styled = window.viewport.styled
    return styled is not None and all(getattr(styled.config, k) == v for k, v in wanted.items())


def press(window, key):
    window.viewport.setFocus()
    QTest.keyClick(window.viewport, key)


def test_a_dropped_picture_is_on_screen_as_a_painting(window, qtbot, tmp_path):
    write_pixels(tmp_path / "kitchen.png", picture(160, 120))
    drop(window, tmp_path / "kitchen.png")
    qtbot.waitUntil(lambda: on_screen(window, style="candy"), timeout=10_000)
    styled = window.viewport.styled
    np.testing.assert_array_equal(styled.source.pixels, picture(160, 120))
    assert np.abs(styled.frame.pixels.astype(int) - styled.source.pixels).mean() > 10
    assert "kitchen" in window.session.info.title


def test_a_dropped_video_plays_and_every_choice_takes_effect_while_it_does(
    window, qtbot, tmp_path, problems
):
    write_video(tmp_path / "film.mp4")
    drop(window, tmp_path / "film.mp4")
    qtbot.waitUntil(lambda: on_screen(window), timeout=10_000)
    for change in (
        {"precision": Precision.bf16},
        {"kernels": "baseline"},
        {"kernels": "norm"},
        {"kernels": "fused", "precision": Precision.fp32},
        {"strength": 0.5, "keep_colors": True},
    ):
        window.session.config = replace(window.session.config, **change)
        qtbot.waitUntil(lambda change=change: on_screen(window, **change), timeout=10_000)
    assert not problems


def test_another_style_takes_over_while_streaming(window, qtbot, tmp_path, catalog):
    catalog.install(catalog.get("candy").weights, "Second")
    window.session.styles_changed.emit()
    window.session.open("scene")
    qtbot.waitUntil(lambda: on_screen(window, style="candy"), timeout=10_000)
    press(window, Qt.Key.Key_2)
    second = catalog.styles[1].key
    qtbot.waitUntil(lambda: on_screen(window, style=second), timeout=10_000)


def test_comparing_shows_two_pictures_and_a_ratio_on_the_same_frames(window, qtbot):
    window.session.open("scene")
    press(window, Qt.Key.Key_C)
    qtbot.waitUntil(
        lambda: on_screen(window, compare=True) and window.viewport.styled.comparison.frames > 3,
        timeout=20_000,
    )
    comparison = window.viewport.styled.comparison
    assert comparison.ratio is not None
    assert comparison.difference < 0.05
    assert comparison.baseline.index == comparison.fused.index
    written = window.viewport._figures  # from the same stream, at most a quarter of a second older
    assert written.agrees
    assert ratio_text(written).capitalize() in window.viewport.accessibleDescription()


def test_comparing_with_the_baseline_chosen_still_compares_with_fused(window, qtbot):
    window.session.config = replace(window.session.config, kernels="baseline")
    window.session.open("scene")
    press(window, Qt.Key.Key_C)
    qtbot.waitUntil(lambda: on_screen(window, compare=True), timeout=20_000)
    assert window.viewport.styled.comparison.fused_title == "Fused"


def test_a_network_camera_that_goes_away_is_said_and_streams_on_when_it_is_back(
    window, qtbot, problems
):
    said: list[str] = []
    window.session.source_status.connect(said.append)
    with NetworkCamera() as camera:
        window.session.open(camera.url("stream.mjpg"))
        qtbot.waitUntil(lambda: on_screen(window), timeout=10_000)
    qtbot.waitUntil(lambda: any(said), timeout=15_000)
    assert "127.0.0.1" in said[-1]
    before = window.viewport.styled
    with NetworkCamera(camera.port):
        qtbot.waitUntil(lambda: said[-1] == "", timeout=20_000)
        qtbot.waitUntil(lambda: window.viewport.styled is not before, timeout=10_000)
        window.session.open("scene")
        qtbot.waitUntil(lambda: window.session.spec == "scene", timeout=10_000)
    assert not problems


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.png", b""),
        ("cut.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF"),
        ("page.png", b"<!DOCTYPE html><html></html>"),
        ("film.mp4", b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"),
    ],
)
def test_a_corrupt_file_is_one_sentence_and_the_stream_goes_on(
    window, qtbot, tmp_path, problems, name, content
):
    window.session.open("scene")
    qtbot.waitUntil(lambda: on_screen(window), timeout=10_000)
    (tmp_path / name).write_bytes(content)
    drop(window, tmp_path / name)
    qtbot.waitUntil(lambda: bool(problems), timeout=10_000)
    assert len(problems) == 1
    assert name in problems[0]
    assert "\n" not in problems[0]
    before = window.viewport.styled
    qtbot.waitUntil(lambda: window.viewport.styled is not before, timeout=10_000)


def test_a_picture_that_vanishes_while_shown_stays_on_screen(window, qtbot, tmp_path):
    path = tmp_path / "short.png"
    write_pixels(path, picture())
    drop(window, path)
    qtbot.waitUntil(lambda: on_screen(window), timeout=10_000)
    path.unlink()
    window.session.config = replace(window.session.config, strength=0.5)
    qtbot.waitUntil(lambda: on_screen(window, strength=0.5), timeout=10_000)


def test_a_snapshot_says_how_it_was_made(window, qtbot, tmp_path):
    window.session.open("scene")
    qtbot.waitUntil(lambda: on_screen(window), timeout=10_000)
    window.exporter.save(window.viewport.styled, tmp_path / "shot.webp")
    qtbot.waitUntil((tmp_path / "shot.webp").exists, timeout=10_000)
    qtbot.waitUntil(lambda: bool(read_metadata(tmp_path / "shot.webp")), timeout=5000)
    assert read_metadata(tmp_path / "shot.webp")["Style"] == "Candy"


def test_the_window_answers_while_the_engine_works(window, qtbot):
    """The window handles its events between frames that take far longer.

    This makes no promise about time, which the benchmark measures.
    """
    config = replace(window.session.config, size=256, kernels="baseline", fluid=False)
    window.session.config = config
    window.session.open("scene")
    qtbot.waitUntil(lambda: on_screen(window), timeout=20_000)
    gaps = []
    for _ in range(20):
        start = time.perf_counter()
        qtbot.wait(1)
        gaps.append((time.perf_counter() - start) * 1e3)
    assert sorted(gaps)[len(gaps) // 2] < window.viewport.styled.timings.network
