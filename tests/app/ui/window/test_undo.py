"""Undo in the window: every control, whole gestures, the names in the menu, refusals."""

from __future__ import annotations

import shutil
from dataclasses import replace

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QStyle, QStyleOptionSlider

from app.parameters import PARAMETERS
from models.precision import Precision
from tests.app.ui.window.conftest import press
from tests.helpers.errors import mentions
from utils.stroke_directions import Handle
from utils.translation.texts import tr


def handle(slider) -> QPoint:
    option = QStyleOptionSlider()
    slider.initStyleOption(option)
    control, part = QStyle.ComplexControl.CC_Slider, QStyle.SubControl.SC_SliderHandle
    return slider.style().subControlRect(control, option, part, slider).center()


def drag(slider, *steps: int) -> None:
    place = handle(slider)
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=place)
    for step in steps:
        place += QPoint(step, 0)
        QTest.mouseMove(slider, place)
        QApplication.processEvents()
    QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=place)


CHANGES = (
    {"style": "udnie"},
    {"mix": "mosaic", "mix_amount": 0.2},
    {"size": 512},
    {"precision": Precision.bf16},
    {"kernels": "baseline"},
    *({name: value} for name, value in {
        "strength": 0.3, "keep_colors": True, "network": "lite", "strokes": "bold",
        "keep_strokes": True, "texture": 0.7, "strokes_direction": "follow",
        "strokes_handles": (Handle(0.2, 0.3, 40.0),),
        "strokes_length": 0.7, "upsampling": "smooth", "smoothing": 0.5,
        "fluid": False, "paint": "person", "rest": "green", "feather": 0.5, "swap_matte": True,
        "matte": "x.png",
    }.items()),
)  # fmt: skip


def test_a_slideshow_is_one_change(window, session):
    before = session.config
    session.config = replace(before, strength=0.4)
    window.actions_by_key["slideshow"].setChecked(True)
    for style in ("udnie", "mosaic"):
        session.config = replace(session.config, style=style)
    window.actions_by_key["slideshow"].setChecked(False)
    assert session.config.style == "mosaic"
    press(window, "undo")
    assert session.config == replace(before, strength=0.4)
    press(window, "undo")
    assert session.config == before


def test_every_change_is_undone_and_done_again(window, session):
    assert set(PARAMETERS) <= {name for change in CHANGES for name in change}
    configs = [session.config]
    for change in CHANGES:
        session.config = replace(session.config, **change)
        configs.append(session.config)
    for before in reversed(configs[:-1]):
        press(window, "undo")
        assert session.config == before
    for after in configs[1:]:
        press(window, "redo")
        assert session.config == after


def test_the_menu_names_what_is_undone(window, session):
    undo, redo = (window.actions_by_key[key] for key in ("undo", "redo"))
    assert (undo.text(), undo.isEnabled(), redo.isEnabled()) == ("Undo", False, False)
    assert "nothing to undo" in undo.toolTip()
    drag(window.panel.controls["strength"], -30)
    assert (undo.text(), undo.isEnabled()) == ("Undo Strength", True)
    press(window, "style_2")
    assert undo.text() == "Undo Style"
    press(window, "undo")
    assert (undo.text(), redo.text()) == ("Undo Strength", "Redo Style")
    assert "Ctrl+Shift+Z" in redo.toolTip()


def test_what_was_undone_and_done_again_is_said(window, session):
    press(window, "style_2")
    press(window, "undo")
    assert mentions(window.notices.text, tr("Undone: {change}", change=tr("Style")))
    press(window, "redo")
    assert mentions(window.notices.text, tr("Done again: {change}", change=tr("Style")))


def test_the_panel_has_buttons_for_undo_and_redo(window, session):
    press(window, "panel")
    panel = window.panel
    assert not panel.undo_button.isEnabled()
    before = session.config
    press(window, "style_2")
    assert panel.undo_button.isEnabled()
    QTest.mouseClick(panel.undo_button, Qt.MouseButton.LeftButton)
    assert session.config == before
    QTest.mouseClick(panel.redo_button, Qt.MouseButton.LeftButton)
    assert session.config != before


def test_a_slider_from_its_press_to_its_release_is_one_change(window, session):
    strength = window.panel.controls["strength"]
    seen: list[float] = []
    session.config_changed.connect(lambda config: seen.append(config.strength))
    drag(strength, -20, -20, -20)
    first = session.config.strength
    drag(strength, -10, -10)
    assert len(set(seen)) == 5
    press(window, "undo")
    assert session.config.strength == first
    press(window, "undo")
    assert session.config.strength == 1.0
    assert not window.actions_by_key["undo"].isEnabled()


def test_keys_in_quick_succession_are_one_change_and_a_style_key_is_another(window, session):
    strength = window.panel.controls["strength"]
    strength.setFocus()
    for _ in range(4):
        QTest.keyClick(strength, Qt.Key.Key_Left)
    assert session.config.strength == 0.96
    QTest.keySequence(window, window.actions_by_key["next_style"].shortcut())
    press(window, "undo")
    assert (session.config.style, session.config.strength) == ("candy", 0.96)
    press(window, "undo")
    assert session.config.strength == 1.0


def test_undo_leaves_the_view_as_it_is(window, session):
    press(window, "style_2")
    press(window, "compare")
    press(window, "undo")
    assert (session.config.style, session.config.compare) == ("candy", True)
    assert window.viewport.view == "compare"


def test_a_refused_choice_cannot_be_undone(streaming, session, monkeypatch, qtbot):
    accepted = session.engine.configure

    def configure(config):
        if config.kernels == "baseline":
            raise ValueError("there are no such kernels")
        accepted(config)

    monkeypatch.setattr(session.engine, "configure", configure)
    press(streaming, "style_2")
    qtbot.waitUntil(lambda: streaming.viewport.styled.config.style == "mosaic")
    before = session.config
    with qtbot.waitSignal(session.config_refused, timeout=5000):
        QTest.keyClick(streaming.engine_bar.lists.kernels, Qt.Key.Key_Home)
        assert session.config.kernels == "baseline"
    assert session.config == before
    undo, redo = (streaming.actions_by_key[key] for key in ("undo", "redo"))
    assert (undo.text(), redo.isEnabled()) == ("Undo Style", False)
    press(streaming, "undo")
    assert session.config.style == "candy"


def test_a_style_that_was_removed_does_not_come_back(window, session, tmp_path, qtbot):
    shutil.copytree(tmp_path / "builtin" / "udnie", tmp_path / "user" / "mine")
    session.catalog.reload()
    session.config = session.config.mixed([("mine", 1.0)])
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        session.user_styles.remove("mine")
    assert session.config.style == "candy"
    assert not window.actions_by_key["undo"].isEnabled()
    assert not window.actions_by_key["redo"].isEnabled()
