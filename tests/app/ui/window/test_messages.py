"""Each message appears where the user expects it, and disappears when it is over or dismissed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton

from app.errors import Problem
from app.live.previews.painter import Preview
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press
from tests.helpers.errors import mentions


def test_very_long_words_do_not_widen_the_window(streaming):
    before = streaming.minimumSizeHint().width()
    streaming.problems.add(Problem(f"Could not open '{'z' * 250}.png'"))
    streaming.notices.show_notice("n" * 300)
    streaming.questions.ask(f"Install '{'y' * 240}.pth'?", "&Install", print, label="&Title:")
    assert streaming.minimumSizeHint().width() == before


def test_problems_come_in_the_bar_and_escape_dismisses_them(window, session):
    session.problem.emit(Problem("one", "trace"))
    session.problem.emit(Problem("two"))
    assert window.problems.isVisible()
    press(window, "copy_details")
    assert "trace" in QGuiApplication.clipboard().text()
    press(window, "back")
    press(window, "back")
    assert not window.problems.isVisible()


def test_a_source_that_is_away_is_said_until_it_is_back(window, session):
    session.source_status.emit("The camera was unplugged; waiting for it to come back.")
    assert window.notices.isVisible()
    session.source_status.emit("")
    assert not window.notices.isVisible()


def test_opening_is_announced_in_the_viewport(window, session):
    session.opening_changed.emit("Opening camera...")
    assert window.viewport.accessibleDescription() == "Opening camera..."
    session.opening_changed.emit("")
    assert window.viewport.accessibleDescription().startswith("Drop a picture")


def test_a_style_that_takes_long_is_announced(streaming, session, monkeypatch, qtbot):
    monkeypatch.setattr(session._worker, "post", lambda *_: None)  # the engine never hears of it
    session.config = replace(session.config, style="udnie")
    qtbot.waitUntil(lambda: streaming.viewport._waiting_text == "Loading Udnie...", timeout=2000)


def of_one_color(shade: int) -> np.ndarray:
    return np.full((144, 192, 3), shade, np.uint8)


def shade_of_picture(window: MainWindow) -> int:
    viewport = window.viewport
    return viewport.grab().toImage().pixelColor(viewport._picture.center()).red()


@pytest.fixture
def deaf(streaming, session, monkeypatch):
    """Show a picture whose engine hears of no further style; return the window."""
    monkeypatch.setattr(session._worker, "post", lambda *_: None)
    session.previews.made.emit(Preview("udnie", of_one_color(77), whole=True))
    session.previews.made.emit(Preview("mosaic", of_one_color(99)))
    return streaming


def test_a_style_appears_as_its_preview_until_its_first_picture(deaf, session, qtbot):
    before = deaf.viewport.styled
    session.config = replace(session.config, style="udnie")
    qtbot.waitUntil(lambda: shade_of_picture(deaf) == 77, timeout=2000)
    assert deaf.viewport._waiting_text == "Loading Udnie..."
    session.styled.emit(before)  # the last result of the style before
    assert shade_of_picture(deaf) == 77
    session.styled.emit(replace(before, config=session.config))
    assert shade_of_picture(deaf) != 77
    assert deaf.viewport._waiting_text == ""


@pytest.mark.parametrize(
    "wanted", [{"style": "mosaic"}, {"style": "udnie", "mix": "candy"}], ids=str
)
def test_no_other_preview_stands_in(wanted, deaf, session, qtbot):
    before = shade_of_picture(deaf)
    session.config = replace(session.config, **wanted)
    qtbot.waitUntil(lambda: deaf.viewport._waiting_text != "", timeout=2000)
    assert shade_of_picture(deaf) == before


def test_a_style_that_fails_leaves_the_picture_before(deaf, session, qtbot):
    before = shade_of_picture(deaf)
    session.config = replace(session.config, style="udnie")
    qtbot.waitUntil(lambda: shade_of_picture(deaf) == 77, timeout=2000)
    session.problem.emit(Problem("Udnie is damaged"))
    assert shade_of_picture(deaf) == before


def test_a_built_in_style_is_not_removed(window):
    press(window, "remove_style")
    assert mentions(window.notices.text, "Candy", "built in")


def test_a_style_just_trained_waits_in_the_gallery_until_it_is_used(streaming, session, qtbot):
    style = session.catalog.get("udnie")
    session.config = replace(session.config, mix="mosaic")
    session.studio.finished.emit(style)
    assert (session.config.style, session.config.mix) == ("candy", "mosaic")
    assert mentions(streaming.notices.text, "Udnie", "ready")
    session.notice.emit("Saved a picture")  # hides it only for a while
    assert not streaming.notices.offer_button.isVisible()
    streaming.notices.dismiss()
    assert streaming.notices.offer_button.isVisible()
    streaming.notices.offer_button.click()
    assert (session.config.style, session.config.mix) == ("udnie", None)
    assert not streaming.notices.isVisible()


# The picture does not move


def place_of_the_picture(window: MainWindow) -> tuple:
    window.viewport.grab()  # paints it at its current place
    viewport = window.viewport
    return viewport.mapTo(window, viewport.rect().topLeft()), viewport.size(), viewport._picture


@pytest.mark.parametrize("width", [1280, 900])
def test_no_message_moves_the_picture(streaming, session, qtbot, width):
    streaming.resize(width, 700)
    qtbot.wait(50)
    styled = streaming.viewport.styled
    before = place_of_the_picture(streaming)
    says = (
        lambda: session.problem.emit(Problem("Could not open 'broken.jpg'. " + "why " * 60)),
        lambda: session.notice.emit("Saved a picture"),
        lambda: session.source_status.emit("The camera was unplugged; waiting"),
        lambda: streaming.questions.ask("Install it?", "&Install", lambda _: None),
        lambda: streaming.status.show_running(
            "Fused, FP32, CPU: " + "why not something faster; " * 20
        ),
        lambda: session.styled.emit(replace(styled, running=replace(styled.running, lite=True))),
        lambda: streaming.panel.ask_address(),
    )
    for say in says:
        say()
        qtbot.wait(20)
        assert place_of_the_picture(streaming) == before
    top = streaming.viewport.mapTo(streaming, QPoint()).y()
    assert streaming.messages.mapTo(streaming, QPoint()).y() == top
    assert all(bar.isVisible() for bar in (streaming.problems, streaming.questions))
    streaming.problems.dismiss()
    streaming.notices.dismiss()
    streaming.questions.dismiss()
    session.source_status.emit("")
    qtbot.wait(20)
    assert not streaming.messages.isVisible()
    assert place_of_the_picture(streaming) == before


def test_a_message_that_grows_is_shown_whole(streaming, session, qtbot):
    session.notice.emit("Saved")
    low, bottom = streaming.toast.height(), streaming.toast.geometry().bottom()
    session.notice.emit("Saved as " + "a long name " * 60)
    qtbot.waitUntil(lambda: streaming.toast.height() > low)
    assert streaming.toast.geometry().bottom() == bottom, "its buttons stay where they are"
    assert streaming.notices.height() >= streaming.notices.heightForWidth(streaming.notices.width())


def test_figures_are_written_below_the_messages(streaming, session):
    press(streaming, "overlay")
    before = streaming.overlay.y()
    session.problem.emit(Problem("something"))
    assert streaming.overlay.y() == before + streaming.messages.height()
    press(streaming, "back")
    assert streaming.overlay.y() == before


def test_messages_keep_clear_of_the_figures_of_a_comparison(streaming, session, qtbot):
    press(streaming, "overlay")
    streaming.views.choose("compare")
    overlay, messages = streaming.overlay, streaming.messages
    qtbot.waitUntil(lambda: streaming.viewport._headroom > 0)
    before = overlay.geometry()
    session.problem.emit(Problem("something"))
    assert messages.isVisible()
    assert not messages.geometry().intersects(overlay.geometry())
    assert overlay.y() == before.y()
    press(streaming, "overlay")
    assert messages.y() == streaming.viewport.mapTo(streaming.workspace, QPoint(0, 0)).y()


def test_what_the_status_line_has_no_room_for_is_in_its_tooltip(streaming):
    words = "Fused, FP32, CPU: " + "why not something faster; " * 20
    streaming.status.show_running(words)
    assert streaming.status.running.toolTip() == words


def test_whoever_closes_a_message_is_at_the_picture_again(streaming, session):
    bars = (streaming.problems, streaming.notices, streaming.questions)
    session.problem.emit(Problem("something"))
    session.notice.emit("Saved a picture")
    streaming.questions.ask("Install it?", "&Install", lambda _: None)
    for bar in bars:
        button = bar.findChildren(QAbstractButton)[-1]
        button.setFocus()
        button.click()
    assert not any(bar.isVisible() for bar in bars)
    assert streaming.viewport.hasFocus()


# A notice covers the bottom of the picture and moves nothing


def test_a_notice_that_comes_and_goes_moves_no_button(streaming, session, qtbot):
    session.problem.emit(Problem("something"))
    streaming.film.show_export("Exporting", 0.5)
    qtbot.waitUntil(streaming.film.isVisible)
    buttons = [b for b in streaming.findChildren(QAbstractButton) if b.isVisible()]
    before = [b.mapTo(streaming, QPoint()) for b in buttons]
    session.notice.emit("Saved a picture")
    assert streaming.notices.isVisible()
    assert [b.mapTo(streaming, QPoint()) for b in buttons] == before
    streaming.notices._timer.timeout.emit()
    assert not streaming.notices.isVisible()
    assert [b.mapTo(streaming, QPoint()) for b in buttons] == before


@pytest.mark.parametrize("width", [1280, 900])
def test_a_notice_covers_the_picture_alone(streaming, session, qtbot, width):
    streaming.resize(width, 700)
    streaming._show_recording(True)
    session.notice.emit("Saved as " + "a long name " * 20)
    qtbot.wait(50)
    toast = streaming.toast.geometry()
    picture = streaming.viewport
    place = QRect(picture.mapTo(streaming.workspace, QPoint()), picture.size())
    assert place.contains(toast)
    light = streaming.recording_light
    lit = QRect(light.mapTo(streaming.workspace, QPoint()), light.size())
    assert not toast.intersects(lit)


def test_a_notice_stays_while_the_keyboard_is_in_it(streaming, session):
    session.notice.emit("Saved a picture")
    button = streaming.notices.findChildren(QAbstractButton)[-1]
    button.setFocus()
    streaming.notices._timer.timeout.emit()
    assert streaming.notices.isVisible()
    streaming.viewport.setFocus()
    streaming.notices._timer.timeout.emit()
    assert not streaming.notices.isVisible()
