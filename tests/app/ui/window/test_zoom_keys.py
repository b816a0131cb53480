"""Zoom in the window: its keys, and the state that it does not change."""

from __future__ import annotations

from tests.app.ui.window.conftest import press


def test_keys_zoom_the_picture(streaming):
    zoom = streaming.viewport.zoom
    press(streaming, "zoom_actual")
    assert zoom.text == "100 %"
    press(streaming, "zoom_in")
    assert zoom.text == "125 %"
    press(streaming, "zoom_out")
    assert zoom.text == "100 %"
    press(streaming, "zoom_fit")
    assert zoom.text == ""


def test_another_view_or_style_keeps_the_zoom(streaming, session, qtbot):
    press(streaming, "zoom_actual")
    with qtbot.waitSignal(session.styled, timeout=5000):
        press(streaming, "style_2")
    press(streaming, "view_split")
    assert streaming.viewport.zoom.text == "100 %"
