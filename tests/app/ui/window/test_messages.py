"""Each message appears where the user expects it, and disappears when it is over or dismissed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QAccessible, QEnterEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication

from app.errors import Problem
from app.live.previews.painter import Preview
from app.ui.main_window import MainWindow
from app.ui.widgets.toast import CloseCross
from tests.app.ui.window.conftest import press
from tests.helpers.errors import mentions


def test_very_long_words_do_not_widen_the_window(streaming):
    before = streaming.minimumSizeHint().width()
    streaming.problems.add(Problem(f"Could not open '{'z' * 250}.png'"))
    streaming.notices.show_notice("n" * 300)
    streaming.questions.ask(f"Install '{'y' * 240}.pth'?", "&Install", print, label="&Title:")
    assert streaming.minimumSizeHint().width() == before


def test_problems_come_as_a_toast_and_escape_dismisses_them(window, session):
    session.problem.emit(Problem("two"))
    session.problem.emit(Problem("one", "trace"))
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
    assert streaming.notices.isVisible()
    assert streaming.questions.isVisible()
    streaming.questions.dismiss()
    session.source_status.emit("")
    streaming.problems.dismiss()
    qtbot.wait(20)
    assert not streaming.toast.shown
    assert place_of_the_picture(streaming) == before


def test_a_message_that_grows_is_shown_whole(streaming, session, qtbot):
    session.notice.emit("Saved")
    low, bottom = streaming.notices.height(), streaming.notices.geometry().bottom()
    session.notice.emit("Saved as " + "a long name " * 60)
    qtbot.waitUntil(lambda: streaming.notices.height() > low)
    assert streaming.notices.geometry().bottom() == bottom, "it grows upward"
    assert streaming.notices.height() >= streaming.notices.heightForWidth(streaming.notices.width())


def test_messages_keep_clear_of_the_figures_of_a_comparison(streaming, session, qtbot):
    press(streaming, "overlay")
    streaming.views.choose("compare")
    overlay, toast = streaming.overlay, streaming.problems
    qtbot.waitUntil(lambda: streaming.viewport._headroom > 0)
    before = overlay.geometry()
    session.problem.emit(Problem("something"))
    assert toast.isVisible()
    place = QRect(overlay.mapTo(streaming.workspace, QPoint()), overlay.size())
    assert not toast.geometry().intersects(place)
    assert overlay.y() == before.y()


def test_what_the_status_line_has_no_room_for_is_in_its_tooltip(streaming):
    words = "Fused, FP32, CPU: " + "why not something faster; " * 20
    streaming.status.show_running(words)
    assert streaming.status.running.toolTip() == words


def test_whoever_closes_a_message_is_at_the_picture_again(streaming, session):
    bars = (streaming.questions, streaming.notices, streaming.problems)
    session.problem.emit(Problem("something"))
    session.notice.emit("Saved a picture")
    streaming.questions.ask("Install it?", "&Install", lambda _: None)
    for bar in bars:
        assert bar.isVisible()
        button = bar.findChildren(QAbstractButton)[-1]
        button.setFocus()
        button.click()
    assert not any(bar.isVisible() for bar in bars)
    assert streaming.viewport.hasFocus()


# A notice covers the bottom of the picture and moves nothing


def test_a_notice_that_comes_and_goes_moves_no_button(streaming, session, qtbot):
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
    toast = streaming.notices.geometry()
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


# One toast


def hold(card) -> None:
    """Move the pointer onto a card, as the window system tells it."""
    middle = QPointF(card.rect().center())
    QApplication.sendEvent(card, QEnterEvent(middle, middle, middle))


def let_go(card) -> None:
    QApplication.sendEvent(card, QEvent(QEvent.Type.Leave))


def offer(window: MainWindow, text: str, taken=print) -> None:
    window.notices.show_offer(text, "&Use it", "Use it", taken)


def shown(window: MainWindow) -> list[str]:
    cards = window.problems, window.notices, window.saved_card
    return [card.accessibleDescription() for card in cards if card.isVisible()]


def test_there_is_one_toast_with_the_newest_message(streaming, session):
    session.problem.emit(Problem("broken"))
    offer(streaming, "trained")
    session.notice.emit("copied")
    assert shown(streaming) == ["copied"]
    session.problem.emit(Problem("worse"))
    assert shown(streaming) == ["worse"]


def test_older_messages_that_need_an_answer_come_back_and_notices_do_not(streaming, session):
    session.problem.emit(Problem("broken"))
    offer(streaming, "trained")
    session.notice.emit("copied")
    session.source_status.emit("unplugged")
    seen = []
    while streaming.toast.shown:
        seen += shown(streaming)
        press(streaming, "back")
    assert seen == ["unplugged", "trained", "broken"]


def test_a_problem_that_happens_again_is_in_front_again(streaming, session):
    for text in ("first", "second", "first"):
        session.problem.emit(Problem(text))
    assert shown(streaming) == ["first"]
    assert len(streaming.problems.problems) == 2


def test_no_button_changes_under_the_pointer(streaming, session):
    taken: list[str] = []
    offer(streaming, "first", lambda: taken.append("first"))
    hold(streaming.notices)
    offer(streaming, "second", lambda: taken.append("second"))
    session.problem.emit(Problem("broken"))
    assert shown(streaming) == ["first"]
    streaming.notices.offer_button.click()
    assert taken == ["first"]
    assert shown(streaming) == ["broken"]


def test_the_newest_message_comes_as_soon_as_the_pointer_has_left(streaming, session):
    offer(streaming, "first")
    hold(streaming.notices)
    session.problem.emit(Problem("broken"))
    let_go(streaming.notices)
    assert shown(streaming) == ["broken"]


def test_no_button_changes_under_the_keys(streaming, session):
    offer(streaming, "first")
    streaming.notices.offer_button.setFocus()
    session.problem.emit(Problem("broken"))
    assert shown(streaming) == ["first"]
    streaming.viewport.setFocus()
    assert shown(streaming) == ["broken"]


def test_a_notice_does_not_end_under_the_pointer(streaming, session):
    session.notice.emit("Saved a picture")
    hold(streaming.notices)
    streaming.notices._timer.timeout.emit()
    assert shown(streaming) == ["Saved a picture"]
    let_go(streaming.notices)
    streaming.notices._timer.timeout.emit()
    assert shown(streaming) == []


def test_only_a_fault_of_the_program_asks_for_a_report(streaming, session):
    session.problem.emit(Problem("broken.jpg is damaged", "trace"))
    assert not streaming.problems.report.isVisible()
    session.problem.emit(Problem.of(AssertionError("of ours"), failure="Could not save"))
    assert streaming.problems.report.isVisible()
    session.problem.emit(Problem.of(PermissionError("denied"), failure="Could not save"))
    assert not streaming.problems.report.isVisible()


def test_every_toast_has_a_cross_and_at_most_two_other_buttons(streaming, session):
    for say in (
        lambda: session.notice.emit("Saved a picture"),
        lambda: streaming.notices.show_offer("a", "&B", "c", print, other=("&D", "e", print)),
        lambda: session.problem.emit(Problem("broken", "trace", at_fault=True)),
    ):
        say()
        (card,) = (c for c in (streaming.notices, streaming.problems) if c.isVisible())
        visible = [each for each in card.findChildren(QAbstractButton) if each.isVisible()]
        crosses = [each for each in visible if isinstance(each, CloseCross)]
        assert len(crosses) == 1
        assert len(visible) <= 3


def test_screen_readers_are_told_each_message_once(streaming, session, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(
        QAccessible,
        "updateAccessibility",
        lambda event: told.append(event.object().accessibleDescription()),
    )
    session.problem.emit(Problem("broken"))
    session.notice.emit("copied")
    streaming.toast.update()
    press(streaming, "back")
    assert [text for text in told if text in ("broken", "copied")] == ["broken", "copied", "broken"]


def test_work_that_comes_and_goes_moves_no_card(streaming, session, qtbot):
    session.notice.emit("Saved a picture")
    streaming.film.show_export("Exporting", 0.5)
    qtbot.waitUntil(streaming.film.isVisible)
    notice, film = streaming.notices.geometry(), streaming.film.geometry()
    assert not notice.intersects(film)
    streaming.painting.show_share(0.5)
    qtbot.waitUntil(streaming.painting.isVisible)
    assert (streaming.notices.geometry(), streaming.film.geometry()) == (notice, film)
    press(streaming, "back")
    streaming.notices.dismiss()
    assert streaming.film.geometry() == film
    session.notice.emit("Saved another one")
    assert streaming.notices.geometry() == notice


# Questions


def test_a_question_is_in_the_middle_and_its_first_button_is_the_primary_one(streaming, qtbot):
    streaming.questions.ask("Install it?", "&Install", print, other="&Other")
    card, picture = streaming.questions, streaming.viewport
    qtbot.waitUntil(lambda: card.accept.x() < card.other.x() < card.cancel.x())
    place = QRect(picture.mapTo(streaming.workspace, QPoint()), picture.size())
    assert (card.geometry().center() - place.center()).manhattanLength() <= 2
    assert card.accept.property("role") == "primary"


def test_a_question_that_came_unasked_takes_no_key_and_no_click_meant_for_the_picture(
    streaming, qtbot
):
    answers: list[str] = []
    streaming.viewport.setFocus()
    streaming.questions.ask("Resume it?", "&Resume", answers.append, unasked=True)
    assert streaming.viewport.hasFocus()
    accept = streaming.questions.accept
    QTest.mouseClick(accept, Qt.MouseButton.LeftButton)
    assert not answers
    assert streaming.questions.isVisible()
    qtbot.waitUntil(lambda: not streaming.questions.settling)
    QTest.mouseClick(accept, Qt.MouseButton.LeftButton)
    assert answers == [""]


def test_a_question_that_came_unasked_waits_for_one_that_is_being_answered(streaming):
    answers: list[str] = []
    streaming.questions.ask("Name?", "&Save", print, label="&Name:")
    streaming.questions.ask("Resume it?", "&Resume", answers.append, unasked=True)
    assert streaming.questions.field.isVisible()
    streaming.questions.ask("Remove it?", "&Remove", answers.append)
    press(streaming, "back")
    assert streaming.questions.accessibleDescription() == "Resume it?"
    streaming.questions.accept.click()
    assert answers == [""]
    assert not streaming.questions.isVisible()


def test_the_window_behind_a_question_stays_usable(streaming, session):
    streaming.questions.ask("Install it?", "&Install", print)
    press(streaming, "next_style")
    assert session.config.style == "mosaic"


def test_the_window_behind_a_closing_question_waits(streaming, session):
    style = session.config.style
    streaming.questions.ask("Quit?", "&Quit", print, no="&Keep", modal=True)
    middle = streaming.toolbar.mapTo(streaming, streaming.toolbar.rect().center())
    assert not streaming.toolbar.isAncestorOf(streaming.childAt(middle))
    assert streaming.childAt(middle) is not streaming.toolbar
    for _ in range(3):
        QTest.keyClick(streaming.windowHandle(), Qt.Key.Key_N)
        assert session.config.style == style
        QTest.keyClick(streaming.windowHandle(), Qt.Key.Key_Tab)
        assert streaming.questions.isAncestorOf(streaming.focusWidget())
    QTest.keyClick(streaming.windowHandle(), Qt.Key.Key_Escape)
    assert not streaming.questions.isVisible()
    assert streaming.toolbar.isAncestorOf(streaming.childAt(middle)) or (
        streaming.childAt(middle) is streaming.toolbar
    )
