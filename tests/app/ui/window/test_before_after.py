"""The window saves the picture with its original, as one picture, a film or an animation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtWidgets import QFileDialog

from app.export.before_after.composing import line_width
from app.ui.showing import before_after
from app.ui.window_context import NO_PICTURE
from tests.app.ui.window.conftest import press
from utils.images.metadata import read_metadata

RED, CYAN = (255, 0, 0), (0, 255, 255)  # the picture in `streaming` and its negative


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    folder = tmp_path / "kept"
    monkeypatch.setattr(before_after, "pictures_folder", lambda: folder)
    monkeypatch.setattr(before_after, "films_folder", lambda: folder)
    return folder


def saved_in(folder: Path) -> np.ndarray:
    [path] = folder.glob("*_before-after.png")
    with Image.open(path) as image:
        return np.asarray(image)


def test_a_key_saves_both_side_by_side(folder, streaming, qtbot):
    press(streaming, "before_after")
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    made = saved_in(folder)
    assert made.shape == (48, 2 * 64 + line_width(64), 3)
    assert tuple(made[24, 10]) == RED
    assert tuple(made[24, -10]) == CYAN
    assert streaming.saved_card.folder.isVisible()


def test_in_the_view_before_after_it_is_split_where_the_divider_is(folder, streaming, qtbot):
    press(streaming, "view_split")
    streaming.viewport.split = 0.75
    press(streaming, "before_after")
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    made = saved_in(folder)
    assert made.shape == (48, 64, 3)
    assert tuple(made[24, 44]) == RED
    assert tuple(made[24, 52]) == CYAN


def test_the_divider_at_the_edge_is_no_side_by_side(folder, streaming, qtbot):
    press(streaming, "view_split")
    streaming.viewport.split = 0.0
    press(streaming, "before_after")
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    assert (saved_in(folder) == CYAN).all()


def test_what_was_saved_says_how_it_was_made(folder, streaming, qtbot):
    press(streaming, "before_after")
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    [path] = folder.glob("*.png")
    assert read_metadata(path)["Software"].startswith("StyleForge")


def test_without_a_picture_nothing_is_saved(folder, window):
    press(window, "before_after")
    assert window.notices.text == NO_PICTURE
    press(window, "wipe")
    assert not window.findChildren(QFileDialog)


@pytest.mark.parametrize(
    ("name", "chosen", "ending"),
    [
        ("show", "Film (*.mp4)", ".mp4"),
        ("show", "Animation (*.gif)", ".gif"),
        ("show.gif", "Film (*.mp4)", ".gif"),
    ],
)
def test_a_wipe_is_saved_as_it_was_chosen(folder, streaming, qtbot, name, chosen, ending):
    press(streaming, "wipe")
    [dialog] = streaming.findChildren(QFileDialog)
    assert dialog.isVisible()
    assert "waves" in dialog.selectedFiles()[0]
    dialog.selectNameFilter(chosen)
    dialog.filesSelected.emit([str(folder / name)])
    dialog.reject()
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=20_000)
    [path] = folder.iterdir()
    assert path.suffix == ending
    assert path.stat().st_size > 500


def test_a_wipe_that_cannot_be_written_is_a_problem(streaming, tmp_path, qtbot):
    (tmp_path / "file").touch()
    showing = streaming.showing.before_after
    showing.save_wipe(streaming.viewport.styled, tmp_path / "file" / "wipe.gif")
    qtbot.waitUntil(lambda: bool(streaming.problems.problems), timeout=10_000)
    assert streaming.problems.problems[0].summary.startswith("Could not save wipe.gif")


def test_a_stream_is_saved_in_the_size_of_its_frames(folder, moving, qtbot):
    press(moving, "before_after")
    qtbot.waitUntil(lambda: moving.saved_card.text.startswith("Saved "), timeout=5000)
    made = saved_in(folder)
    line = line_width(160)
    assert made.shape == (120, 320 + line, 3)
    assert np.array_equal(made[:, :160], 255 - made[:, 160 + line :])
