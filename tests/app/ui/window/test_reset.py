"""A double click on a control or its name, or a key, resets the control."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.engine.config import EngineConfig
from app.parameters import MATTED, PARAMETERS
from app.ui.panel.stroke_width import FIELDS
from models.precision import Precision
from tests.app.ui.window.conftest import press
from utils.stroke_directions import Handle

CHANGED = {
    "strength": 0.3, "keep_colors": True, "mix_amount": 0.1, "network": "lite", "strokes": "bold",
    "keep_strokes": True, "texture": 0.7, "strokes_direction": 30.0,
    "strokes_handles": (Handle(0.2, 0.3, 40.0),),
    "strokes_length": 0.7, "upsampling": "smooth", "smoothing": 0.5,
    "fluid": False, "size": 512, "precision": Precision.bf16, "kernels": "baseline",
    "device": "cuda:7",
}  # fmt: skip


def control_of(window, name):
    """Return the control of a setting; one slider sets both of the stroke width."""
    name = "strokes" if name == "keep_strokes" else name
    panel, bar = window.panel, window.engine_bar
    return (panel.controls | panel.others | bar.controls | bar.others)[name]


def change_all(session) -> None:
    session.config = replace(session.config, mix="udnie", **CHANGED)


def test_delete_on_a_control_resets_it_alone(window, session):
    assert set(CHANGED) >= set(PARAMETERS) - set(MATTED)
    for number, name in enumerate(CHANGED):
        change_all(session)
        before = session.config
        key = Qt.Key.Key_Backspace if number % 2 else Qt.Key.Key_Delete
        QTest.keyClick(control_of(window, name), key)
        names = FIELDS if name in FIELDS else (name,)
        defaults = {each: getattr(EngineConfig(), each) for each in names}
        assert session.config == replace(before, **defaults)
        if session.config != before:
            press(window, "undo")
        assert session.config == before


def test_delete_on_the_list_of_second_styles_ends_the_mix(window, session):
    change_all(session)
    QTest.keyClick(window.panel.mix, Qt.Key.Key_Delete)
    assert session.config.mix is None


def test_a_double_click_on_a_slider_resets_it_and_is_one_change(window, session):
    for name in ("strength", "mix_amount", "texture", "smoothing"):
        change_all(session)
        before = session.config
        slider = window.panel.controls[name]
        QTest.mouseClick(slider, Qt.MouseButton.LeftButton)
        QTest.mouseDClick(slider, Qt.MouseButton.LeftButton)
        assert getattr(session.config, name) == getattr(EngineConfig(), name)
        press(window, "undo")
        assert session.config == before


def test_a_double_click_on_the_name_of_a_control_resets_it(window, session):
    change_all(session)
    parts = window.panel, window.engine_bar
    labels = {label.buddy(): label for part in parts for label in part.findChildren(QLabel)}
    for name in ("strength", "strokes", "size", "precision", "kernels", "device"):
        label = labels[control_of(window, name)]
        QTest.mouseDClick(label, Qt.MouseButton.LeftButton)
        assert getattr(session.config, name) == getattr(EngineConfig(), name)


def test_a_double_click_on_the_bar_from_smooth_to_sharp_makes_it_automatic(window, session):
    session.config = replace(session.config, network="lite", size=256)
    QTest.mouseDClick(window.panel.speed.slider, Qt.MouseButton.LeftButton)
    assert (session.config.network, session.config.size) == ("auto", None)


def test_every_control_tells_in_its_tip_how_it_is_reset(window, session):
    session.config = replace(session.config, mix="udnie")
    press(window, "style_2")
    for name in CHANGED:
        tip = control_of(window, name).toolTip()
        assert tip.count("Delete") == 1, name
        assert tip.count("resets it") == 1, name
    assert window.panel.controls["strength"].toolTip().startswith(PARAMETERS["strength"].tip)


def test_a_control_that_cannot_be_used_is_not_reset_and_does_not_say_it_is(window, session):
    share = window.panel.controls["mix_amount"]
    session.config = replace(session.config, mix_amount=0.1)
    assert not share.isEnabled()
    assert "resets" not in share.toolTip()
    (label,) = (x for x in window.panel.findChildren(QLabel) if x.buddy() is share)
    QTest.mouseDClick(label, Qt.MouseButton.LeftButton)
    assert session.config.mix_amount == 0.1


def test_all_settings_are_reset_and_the_mix_stays(window, session):
    change_all(session)
    press(window, "reset")
    default = EngineConfig()
    assert session.config == replace(default, mix="udnie", mix_amount=0.1)
    press(window, "undo")
    assert session.config.strength == 0.3
