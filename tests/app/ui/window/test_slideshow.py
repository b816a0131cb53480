"""The slideshow changes the style every few seconds and cross-fades by mixing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from app.ui.main_window import MainWindow
from app.ui.showing.slideshow import FADE_S, NOTHING_OPEN, PATIENCE_S, TOO_FEW, Slideshow
from app.ui.showing.slideshow_dialog import SlideshowDialog
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_keys import controls


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(window) -> Clock:
    window.showing.slideshow._clock = clock = Clock()
    return clock


@pytest.fixture
def showing(streaming, clock) -> Slideshow:
    """Return the slideshow of a window with a picture in Candy, not yet started."""
    return streaming.showing.slideshow


def is_checked(window: MainWindow) -> bool:
    return window.actions_by_key["slideshow"].isChecked()


def test_the_next_style_is_faded_in_by_mixing(streaming, showing, session, clock, qtbot):
    press(streaming, "slideshow")
    assert showing.fading
    seen: list[float] = []
    session.styled.connect(lambda styled: seen.append(dict(styled.config.parts).get("mosaic", 0)))
    with qtbot.waitSignal(session.styled, timeout=5000):  # begins the fade
        pass
    for part in range(1, 10):
        clock.now = FADE_S * part / 10
        with qtbot.waitSignal(session.styled, timeout=5000):
            pass
    assert session.config.styles == ("candy", "mosaic")
    clock.now = FADE_S
    qtbot.waitUntil(lambda: not showing.fading, timeout=5000)
    assert session.config.parts == (("mosaic", 1.0),)
    between = [share for share in seen if 0.05 < share < 0.95]
    assert len(between) >= 3
    assert seen == sorted(seen)


def test_the_time_between_changes_is_the_one_that_was_chosen(streaming, showing):
    streaming.settings.update(slideshow_seconds=7.0)
    press(streaming, "slideshow")
    assert showing._next.interval() == 7000


def test_after_the_last_style_the_first_one_comes_again(streaming, showing, session):
    streaming.settings.update(slideshow_cuts=True)
    shown = []
    press(streaming, "slideshow")
    for _ in range(4):
        shown.append(session.config.style)
        showing.advance()
    assert shown == ["mosaic", "udnie", "candy", "mosaic"]


@pytest.mark.parametrize("setting", ["slideshow_cuts", "reduce_motion"])
def test_with_reduced_motion_it_cuts(streaming, showing, session, setting):
    streaming.settings.update(**{setting: True})
    press(streaming, "slideshow")
    assert not showing.fading
    assert session.config.parts == (("mosaic", 1.0),)


def test_what_cannot_be_mixed_is_cut(streaming, showing, session, monkeypatch):
    monkeypatch.setattr(session.catalog, "mixable_with", lambda key: ())
    press(streaming, "slideshow")
    assert session.config.parts == (("mosaic", 1.0),)


def test_a_mix_that_the_engine_refuses_becomes_a_cut(streaming, showing, session):
    press(streaming, "slideshow")
    session.config = session.config.mixed((("candy", 1.0),))  # as when the engine refuses the mix
    assert not showing.fading
    assert session.config.parts == (("mosaic", 1.0),)


def test_only_the_chosen_styles_are_shown(streaming, showing, session):
    streaming.settings.update(slideshow_styles="udnie\ncandy", slideshow_cuts=True)
    assert showing.styles() == ["candy", "udnie"]
    press(streaming, "slideshow")
    assert session.config.style == "udnie"
    showing.advance()
    assert session.config.style == "candy"


def test_it_needs_two_styles(streaming, showing):
    streaming.settings.update(slideshow_styles="udnie")
    press(streaming, "slideshow")
    assert streaming.notices.text == TOO_FEW
    assert not is_checked(streaming)


def test_it_needs_something_to_show(window):
    press(window, "slideshow")
    assert window.notices.text == NOTHING_OPEN
    assert not is_checked(window)


def test_the_key_again_stops_it_at_the_style_that_was_coming(streaming, showing, session, clock):
    press(streaming, "slideshow")
    clock.now = 1.0
    press(streaming, "slideshow")
    assert session.config.parts == (("mosaic", 1.0),)
    assert not showing._next.isActive()
    assert not showing.running


def test_a_style_that_the_user_chooses_meanwhile_stays(streaming, showing, session, clock):
    press(streaming, "slideshow")
    press(streaming, "style_3")
    assert session.config.style == "udnie"
    assert not showing.fading
    assert showing.running
    clock.now = 10.0
    showing._continue()
    assert session.config.style == "udnie"


def test_another_setting_does_not_end_a_fade(streaming, showing, session):
    press(streaming, "slideshow")
    session.config = replace(session.config, strength=0.4)
    assert showing.fading


def test_a_fade_ends_although_no_result_comes(streaming, showing, session, clock, qtbot):
    press(streaming, "slideshow")
    session.styled.disconnect(showing._on_styled)
    clock.now = PATIENCE_S - 0.1
    qtbot.wait(250)
    assert showing.fading
    clock.now = PATIENCE_S + 0.1
    qtbot.waitUntil(lambda: not showing.fading, timeout=5000)
    assert session.config.parts == (("mosaic", 1.0),)


def test_closing_the_window_ends_it(streaming, showing, saved):
    press(streaming, "slideshow")
    streaming.close()
    assert not showing._next.isActive()
    assert saved[-1].style == "mosaic"
    assert saved[-1].mix == ""


def test_a_fade_is_not_saved_and_the_next_mix_begins_in_halves(
    streaming, showing, session, clock, saved, qtbot
):
    press(streaming, "slideshow")
    clock.now = FADE_S * 0.9
    with qtbot.waitSignal(session.styled, timeout=5000):
        pass
    kept = streaming.settings.current()
    assert (kept.style, kept.mix, kept.mix_amount) == ("mosaic", "", 0.5)
    press(streaming, "slideshow")
    assert streaming.settings.current().mix_amount == 0.5
    press(streaming, "mix")
    assert [share for _, share in session.config.parts] == [0.5, 0.5]


# Its settings


@pytest.fixture
def dialog(window) -> SlideshowDialog:
    window.actions_by_key["slideshow_settings"].trigger()
    assert window.showing.dialog is not None
    return window.showing.dialog


def test_the_settings_list_every_style_ticked(dialog):
    items = [dialog.styles.item(row) for row in range(dialog.styles.count())]
    assert [item.text() for item in items] == ["Candy", "Mosaic", "Udnie"]
    assert all(item.checkState() == Qt.CheckState.Checked for item in items)


def test_what_is_chosen_is_remembered(window, dialog, saved):
    dialog.styles.item(1).setCheckState(Qt.CheckState.Unchecked)
    dialog.seconds.setValue(25)
    dialog.cut.click()
    window.close()
    assert saved[-1].slideshow_styles == "candy\nudnie"
    assert saved[-1].slideshow_seconds == 25.0
    assert saved[-1].slideshow_cuts


def test_all_styles_ticked_are_all_that_there_will_be(window, dialog):
    dialog.styles.item(1).setCheckState(Qt.CheckState.Unchecked)
    dialog.styles.item(1).setCheckState(Qt.CheckState.Checked)
    assert window.settings.value.slideshow_styles == ""


def test_every_control_of_the_settings_has_a_name_and_a_tip(dialog):
    found = controls(dialog)
    assert len(found) >= 4
    ours = [w for w in found if w.objectName() != "qt_spinbox_lineedit"]
    assert not [w for w in ours if not w.accessibleName() or not w.toolTip()]
