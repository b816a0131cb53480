"""Drags across a still picture paint only there; the eraser and undo take it back."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QThread
from PySide6.QtTest import QTest

from app.engine.matting import masks
from app.engine.matting.files import is_mask, read_mask
from app.engine.matting.masks import mask_at
from app.options import (
    EVERYTHING,
    ONLY_BACKGROUND,
    ONLY_PERSON,
    PAINTED,
    PAINTED_BY_MASK,
)
from app.settings import Settings
from app.ui.controllers.settings_mapping import settings_with_config
from app.ui.viewport.brushing import LARGEST, SMALLEST
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_combing import at, drag, moved, paint, place
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Keep masks in a folder of the test."""
    monkeypatch.setattr("app.ui.person.mask_files.masks_folder", lambda: tmp_path / "masks")
    return tmp_path / "masks"


@pytest.fixture
def brushing(streaming):
    press(streaming, "brush")
    paint(streaming)
    return streaming


@pytest.fixture
def dialog(streaming, qtbot):
    press(streaming, "person")
    show_window(streaming.person.dialog, qtbot)
    return streaming.person.dialog


def mask(window) -> np.ndarray:
    return mask_at(Path(window.session.config.matte))


def stroke(window, *shares: tuple[float, float], **how) -> None:
    drag(window, *(at(window, x, y) for x, y in shares), **how)


def test_a_drag_paints_only_there(brushing, session):
    stroke(brushing, (0.2, 0.5), (0.5, 0.5), (0.8, 0.5))
    painted = mask(brushing)
    assert session.config.paint == ONLY_PERSON
    assert painted.shape == (48, 64)
    assert (painted[24, 13:51] > 200).all()
    assert painted[24, 4] == painted[8, 32] == painted[40, 32] == 0


def test_a_click_is_a_dab(brushing):
    stroke(brushing, (0.5, 0.5))
    assert mask(brushing)[24, 32] == 255
    QTest.mouseDClick(brushing.viewport, LEFT, pos=at(brushing, 0.2, 0.5))
    assert mask(brushing)[24, 13] == 255
    assert not brushing.viewport.zoom.zoomed


def test_the_picture_follows_a_drag_before_it_ends(brushing, session, qtbot):
    stroke(brushing, (0.2, 0.5), (0.4, 0.5), ends=False)
    assert mask(brushing)[24, 13] == 255
    qtbot.waitUntil(lambda: mask(brushing)[24, 25] == 255)
    qtbot.waitUntil(lambda: brushing.viewport.styled.config == session.config)


def test_the_right_button_and_the_eraser_take_away(brushing, session):
    stroke(brushing, (0.2, 0.5), (0.8, 0.5))
    stroke(brushing, (0.5, 0.5), button=RIGHT)
    assert mask(brushing)[24, 32] == 0
    brushing.brushing.use(on=True, erases=True)
    stroke(brushing, (0.2, 0.5))
    assert mask(brushing)[24, 13] == 0
    assert mask(brushing)[24, 51] == 255


def test_the_eraser_alone_paints_all_but_there(brushing):
    stroke(brushing, (0.5, 0.5), button=RIGHT)
    assert mask(brushing)[24, 32] == 0
    assert mask(brushing)[4, 4] == 255


def test_a_drag_is_one_change(brushing, session):
    before = session.config
    stroke(brushing, (0.2, 0.2), (0.4, 0.2), (0.6, 0.2), (0.8, 0.2))
    first = session.config
    stroke(brushing, (0.2, 0.8), (0.4, 0.8), (0.8, 0.8))
    second = mask(brushing)
    press(brushing, "undo")
    assert session.config == first
    stroke(brushing, (0.5, 0.5))
    assert mask(brushing)[38, 32] == 0, "a stroke goes on from the mask that undo brought back"
    press(brushing, "undo")
    press(brushing, "undo")
    assert session.config == before
    press(brushing, "redo")
    assert session.config == first
    assert second[38, 32] == 255


def test_escape_takes_a_stroke_back_and_then_ends_the_mode(brushing, session):
    stroke(brushing, (0.2, 0.5), (0.8, 0.5))
    before = session.config
    stroke(brushing, (0.2, 0.8), (0.8, 0.8), ends=False)
    QTest.keyClick(brushing.viewport, Qt.Key.Key_Escape)
    assert session.config == before
    moved(brushing.viewport, at(brushing, 0.5, 0.2), LEFT)
    QTest.mouseRelease(brushing.viewport, LEFT, pos=at(brushing, 0.5, 0.2))
    assert session.config == before
    assert brushing.brushing.on
    press(brushing, "back")
    assert not brushing.brushing.on


def test_the_key_ends_the_mode_and_the_mask_stays(brushing, session):
    stroke(brushing, (0.5, 0.5))
    kept = session.config
    press(brushing, "brush")
    assert not brushing.brushing.on
    assert not brushing.actions_by_key["brush"].isChecked()
    stroke(brushing, (0.2, 0.2))
    assert session.config == kept


def test_a_playing_film_cannot_be_brushed_and_a_paused_one_can(moving, session, qtbot):
    press(moving, "brush")
    assert moving.notices.text
    assert not moving.brushing.on
    assert not moving.actions_by_key["brush"].isChecked()
    session.paused = True
    press(moving, "brush")
    assert moving.brushing.on
    session.paused = False
    assert not moving.brushing.on


def test_without_a_picture_the_brush_says_so(window):
    press(window, "brush")
    assert window.notices.text
    assert not window.brushing.on


def test_another_picture_forgets_the_mask_and_undo_does_not_bring_it_back(
    brushing, session, tmp_path, qtbot
):
    stroke(brushing, (0.5, 0.5))
    other = tmp_path / "other.png"
    write_pixels(other, np.zeros((40, 40, 3), np.uint8))
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(other))
    assert (session.config.matte, session.config.paint) == ("", EVERYTHING)
    assert not brushing.brushing.on
    press(brushing, "undo")
    assert session.config.matte == ""


def test_the_next_picture_of_a_strip_forgets_the_mask_even_with_the_same_name(
    streaming, session, tmp_path, qtbot
):
    files = [tmp_path / folder / "same.png" for folder in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        write_pixels(file, np.zeros((40, 40, 3), np.uint8))
    with qtbot.waitSignal(session.source_changed):
        session.open([str(file) for file in files])
    qtbot.waitUntil(lambda: streaming.viewport.styled.source.width == 40)
    press(streaming, "brush")
    paint(streaming)
    stroke(streaming, (0.5, 0.5))
    assert session.config.paint == ONLY_PERSON
    session.step(1)
    qtbot.waitUntil(lambda: session.config.matte == "")
    assert not streaming.brushing.on


def test_the_list_names_the_parts_by_the_mask(dialog, streaming, session, qtbot):
    parts = dialog.controls["paint"]

    def titles() -> list[str]:
        return [parts.itemText(row) for row in range(parts.count())]

    person = [option.title for option in PAINTED.values()]
    assert titles() == person
    QTest.mouseClick(dialog.brush.brush, LEFT)
    paint(streaming)
    stroke(streaming, (0.5, 0.5))
    inside = [option.title for option in PAINTED_BY_MASK.values()]
    assert titles() == inside
    assert parts.currentText() == inside[1]
    dialog.controls["swap_matte"].click()
    assert parts.currentText() == inside[2], "it is painted outside"
    streaming.person.act("paint_part")
    assert inside[1] in streaming.notices.text
    QTest.mouseClick(dialog.drop, LEFT)
    assert titles() == person


def test_a_mask_is_not_for_the_next_start(brushing, session):
    stroke(brushing, (0.5, 0.5))
    assert settings_with_config(Settings(), session.config).matte == ""


def test_a_reset_keeps_the_mask(brushing, session):
    stroke(brushing, (0.5, 0.5))
    file = session.config.matte
    brushing.reset.reset_all()
    assert session.config.matte == file


def test_a_stroke_on_a_mirrored_picture_paints_what_is_under_it(brushing):
    brushing.viewport.mirrored = True
    paint(brushing)
    stroke(brushing, (0.2, 0.5))
    assert mask(brushing)[24, 51] == 255
    assert mask(brushing)[24, 13] == 0


def test_a_zoomed_picture_is_brushed_and_still_moved(brushing, session):
    brushing.viewport.zoom.zoom_by(2.0)
    paint(brushing)
    stroke(brushing, (0.7, 0.5))
    assert mask(brushing)[24, 38] == 255
    kept, before = session.config, brushing.viewport.grab().toImage()
    shift = Qt.KeyboardModifier.ShiftModifier
    stroke(brushing, (0.5, 0.5), (0.6, 0.5), (0.7, 0.6), keys=shift)
    assert session.config == kept
    assert brushing.viewport.grab().toImage() != before


def test_the_divider_is_still_dragged(brushing, session):
    press(brushing, "view_split")
    paint(brushing)
    stroke(brushing, (brushing.viewport.split, 0.5), (0.7, 0.5))
    assert brushing.viewport.split == pytest.approx(0.7, abs=0.01)
    assert session.config.matte == ""


def test_beside_the_picture_and_in_a_comparison_nothing_is_brushed(brushing, session):
    beside = brushing.viewport.rect().topLeft() + QPoint(2, 2)
    assert not place(brushing).contains(QPointF(beside))
    drag(brushing, beside, at(brushing, 0.5, 0.5))
    press(brushing, "view_compare")
    paint(brushing)
    stroke(brushing, (0.3, 0.5), (0.5, 0.5))
    assert session.config.matte == ""


def test_keys_change_the_size_of_the_circle(brushing):
    control = brushing.brushing.control
    before = control.radius
    QTest.keyClick(brushing.viewport, Qt.Key.Key_Period)
    assert control.radius > before
    for _ in range(40):
        QTest.keyClick(brushing.viewport, Qt.Key.Key_Comma)
    assert control.radius == SMALLEST
    control.radius = 1.0
    assert control.radius == LARGEST


def test_a_circle_of_the_brushs_size_is_the_pointer(brushing, qtbot):
    viewport = brushing.viewport

    def pointed() -> bool:
        # Again, as a window manager may tell of the real pointer in between.
        moved(viewport, at(brushing, 0.5, 0.6))
        return viewport.cursor().shape() == Qt.CursorShape.BlankCursor

    qtbot.waitUntil(pointed)
    image = viewport.grab().toImage()
    middle = at(brushing, 0.5, 0.6)
    radius = round(brushing.brushing.control.radius * place(brushing).width())
    plain = image.pixelColor(at(brushing, 0.1, 0.9))
    assert image.pixelColor(middle + QPoint(radius, 0)) != plain
    assert image.pixelColor(middle + QPoint(radius // 2, 0)) == plain
    assert image.pixelColor(middle + QPoint(radius + 8, 0)) == plain


def test_the_hint_says_how_until_the_brush_is_off(brushing):
    assert brushing.viewport.brush.hint in brushing.viewport.accessibleDescription()
    press(brushing, "brush")
    assert brushing.viewport.brush.hint == ""


def test_brush_and_comb_are_never_on_together(streaming, session):
    session.config = replace(session.config, strokes_direction="hand")
    assert streaming.viewport.comb.open
    press(streaming, "brush")
    assert not streaming.viewport.comb.open
    assert streaming.viewport.hasMouseTracking()
    press(streaming, "brush")
    assert streaming.viewport.comb.open
    session.config = replace(session.config, strokes_direction="auto")
    press(streaming, "brush")
    session.config = replace(session.config, strokes_direction="hand")
    assert not streaming.brushing.on
    assert streaming.viewport.comb.open


def test_the_first_stroke_paints_there_whatever_was_chosen_for_people(brushing, session):
    session.config = replace(session.config, paint=ONLY_BACKGROUND, swap_matte=True)
    stroke(brushing, (0.5, 0.5))
    assert (session.config.paint, session.config.swap_matte) == (ONLY_PERSON, False)


def test_the_dialog_chooses_brush_eraser_and_size(dialog, streaming, session):
    row = dialog.brush
    QTest.mouseClick(row.brush, LEFT)
    assert streaming.brushing.on
    QTest.mouseClick(row.eraser, LEFT)
    assert streaming.brushing.control.erases
    assert row.eraser.isChecked()
    assert not row.brush.isChecked()
    row.size.setValue(30)
    assert streaming.brushing.control.radius == 0.15
    QTest.keyClick(streaming.viewport, Qt.Key.Key_Period)
    assert row.size.value() > 30
    QTest.mouseClick(row.eraser, LEFT)
    assert not streaming.brushing.on


def test_the_dialog_empties_the_mask(dialog, streaming, session):
    row = dialog.brush
    assert not row.clear.isEnabled()
    without = row.clear.toolTip()
    QTest.mouseClick(row.brush, LEFT)
    paint(streaming)
    stroke(streaming, (0.5, 0.5))
    assert row.clear.isEnabled()
    assert row.clear.toolTip() != without
    QTest.mouseClick(row.clear, LEFT)
    assert is_mask(Path(session.config.matte))
    assert mask(streaming).max() == 0
    streaming.actions_by_key["undo"].trigger()
    assert mask(streaming)[24, 32] == 255


def test_the_tools_are_disabled_while_a_film_plays(moving, session, qtbot):
    press(moving, "person")
    row = moving.person.dialog.brush
    assert not row.brush.isEnabled()
    reason = row.brush.toolTip()
    session.paused = True
    assert row.brush.isEnabled()
    assert row.brush.toolTip() != reason


def test_a_mask_that_cannot_be_kept_is_a_message(brushing, session, folder, qtbot):
    folder.write_text("in the way")
    before = session.config
    with qtbot.waitSignal(session.problem, timeout=5000):
        stroke(brushing, (0.2, 0.5), (0.5, 0.5))
    assert session.config == before


def test_strokes_are_written_in_order_on_another_thread(
    brushing, session, folder, qtbot, monkeypatch
):
    threads, write = [], masks.write_mask

    def slow(path):
        threads.append(threading.current_thread())
        QThread.msleep(30)
        write(path)

    monkeypatch.setattr("app.ui.person.mask_files.write_mask", slow)
    files = []
    for across in (0.2, 0.5, 0.8):
        stroke(brushing, (across, 0.5))
        files.append(Path(session.config.matte))
    assert session.writing, "closing the window waits"
    assert not files[-1].exists()
    assert mask(brushing)[24, 51] == 255, "the engine reads it before its file is there"
    qtbot.waitUntil(lambda: not session.writing)
    assert sorted(folder.iterdir()) == files, "drafts are in memory only"
    assert [read_mask(file)[24, 51] for file in files] == [0, 0, 255]
    assert threading.main_thread() not in threads


def test_a_window_that_closes_writes_the_last_stroke(brushing, session, qtbot):
    stroke(brushing, (0.5, 0.5))
    file = Path(session.config.matte)
    brushing.close()
    qtbot.waitUntil(lambda: not brushing.isVisible())
    assert read_mask(file)[24, 32] == 255


def test_a_mask_that_cannot_be_kept_is_no_change_to_undo(brushing, session, folder, qtbot):
    stroke(brushing, (0.2, 0.5))
    qtbot.waitUntil(lambda: not session.writing)
    first = session.config
    shutil.rmtree(folder)
    folder.write_text("in the way")
    with qtbot.waitSignal(session.problem):
        stroke(brushing, (0.8, 0.5))
    assert session.config == first
    press(brushing, "undo")
    assert session.config.matte == ""


def test_a_mask_that_is_gone_is_a_message(brushing, session, qtbot):
    stroke(brushing, (0.5, 0.5))
    press(brushing, "brush")
    qtbot.waitUntil(lambda: not session.writing)
    brushing.brushing._mask = None
    Path(session.config.matte).unlink()
    press(brushing, "brush")
    with qtbot.waitSignal(session.problem, timeout=5000):
        stroke(brushing, (0.2, 0.5), (0.5, 0.5))
