"""Keys and the bar play films: to the frame, part of it in a loop, with or without sound."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.settings import Settings
from app.sound import portaudio
from app.sound.device import Fill, SoundError
from app.sound.output import SilentOutput
from app.ui.actions import tip_of
from app.ui.player.player import NO_FILM, NO_PART
from tests.app.ui.window.conftest import press
from tests.helpers.animations import DELAYS, write_animation
from tests.helpers.fakes import write_video
from tests.helpers.sound import write_talkie

EVEN = tuple(n / 25 for n in range(75))
SILENCE = "There is no sound output device: connect one"


class Device(SilentOutput):
    """A silent device that the program takes for a real one."""

    def __init__(self, fill: Fill, lost: Callable[[], None]) -> None:
        super().__init__(fill, "")


@pytest.fixture
def talkie(window, session, tmp_path, qtbot, monkeypatch):
    """Return the window with a film with sound, paused at its beginning."""
    monkeypatch.setattr(portaudio, "PortAudioOutput", Device)
    film = write_talkie(tmp_path / "film.mp4", EVEN, (0.5, 1.0))
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(film))
    qtbot.waitUntil(lambda: session.silence == "")
    session.paused = True
    session.seek(0.4)
    qtbot.waitUntil(lambda: session.position == pytest.approx(0.4))
    return window


def at(window, number: int) -> Callable[[], bool]:
    return lambda: window.session.position == pytest.approx(EVEN[number], abs=1e-3)


def test_keys_step_from_frame_to_frame_and_pause(talkie, session, qtbot):
    session.paused = False
    press(talkie, "step_forward")
    assert session.paused
    session.seek(0.4)
    qtbot.waitUntil(at(talkie, 10))
    for key, number in (("step_forward", 11), ("step_back", 10), ("step_back", 9)):
        press(talkie, key)
        qtbot.waitUntil(at(talkie, number))


def test_a_part_is_marked_shown_and_looped(talkie, session, qtbot):
    bar, loop = talkie.playback_bar, talkie.actions_by_key["loop"]
    press(talkie, "mark_start")
    assert bar.slider.part == (40, None)
    assert not loop.isChecked()
    for _ in range(3):
        press(talkie, "step_forward")
    qtbot.waitUntil(at(talkie, 13))
    press(talkie, "mark_end")
    assert bar.slider.part == (40, 52)
    assert bar.slider.accessibleDescription() == "loop start at 0:00, loop end at 0:00"
    assert loop.isChecked()
    positions: list[float] = []
    session.position_changed.connect(positions.append)
    session.paused = False
    qtbot.waitUntil(lambda: len(positions) > 8)
    assert min(positions) >= 0.4 - 1e-3
    assert max(positions) <= 0.52 + 1e-3
    press(talkie, "loop")
    assert bar.slider.part == (40, 52)
    qtbot.waitUntil(lambda: positions[-1] > 0.6)


def test_an_animation_has_the_player_of_films(window, session, tmp_path, qtbot):
    path = write_animation(tmp_path / "dance.gif")
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(path))
    begins = [sum(DELAYS[:number]) / 1e3 for number in range(len(DELAYS))]
    bar = window.playback_bar
    assert bar.isVisibleTo(window)
    assert bar.slider.maximum() == sum(DELAYS) // 10
    press(window, "step_forward")
    assert session.paused
    bar.slider.setValue(bar.slider.maximum())
    qtbot.waitUntil(lambda: session.position == pytest.approx(begins[-1]))
    press(window, "step_back")
    qtbot.waitUntil(lambda: session.position == pytest.approx(begins[-2]))
    press(window, "mark_end")
    assert bar.slider.part == (0, round(100 * begins[-2]))
    assert window.actions_by_key["loop"].isChecked()


def test_a_loop_without_a_part_is_a_sentence(talkie):
    press(talkie, "loop")
    assert talkie.notices.text == NO_PART
    assert not talkie.actions_by_key["loop"].isChecked()


@pytest.mark.parametrize("key", ["mark_start", "mark_end", "step_back"])
def test_what_is_for_films_says_so_where_there_is_none(window, key):
    press(window, key)
    assert window.notices.text == NO_FILM


def test_another_film_has_no_marks(talkie, session, tmp_path, qtbot):
    press(talkie, "mark_start")
    other = write_talkie(tmp_path / "other.mp4", EVEN, ())
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(other))
    assert talkie.playback_bar.slider.part == (None, None)


def test_sound_is_muted_and_louder_and_softer_by_keys_and_kept(talkie, saved, qtbot, monkeypatch):
    volumes: list[float] = []
    monkeypatch.setattr(talkie.session, "set_volume", volumes.append)
    press(talkie, "softer")
    press(talkie, "softer")
    press(talkie, "mute")
    assert volumes == [0.9, 0.8, 0.0]
    assert talkie.playback_bar.volume.value() == 80
    press(talkie, "louder")  # also unmutes
    assert volumes[-1] == 0.9
    assert not talkie.actions_by_key["mute"].isChecked()
    QTest.keyClick(talkie.playback_bar.volume, Qt.Key.Key_Home)
    assert volumes[-1] == 0.0
    press(talkie, "mute")
    talkie.settings._later.timeout.emit()
    qtbot.waitUntil(lambda: bool(saved) and saved[-1].muted)
    assert saved[-1].volume == 0.0


def test_the_sound_of_the_settings_is_that_of_the_first_film(talkie, session, tmp_path, qtbot):
    worker = session._worker
    talkie.settings.update(muted=True)
    talkie.player._apply_sound()
    qtbot.waitUntil(lambda: worker.loop._source._sound._volume == 0.0)
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(write_talkie(tmp_path / "other.mp4", EVEN, ())))
    assert worker.loop._source._sound._volume == 0.0
    assert Settings().volume == 1.0


def test_where_nothing_can_be_heard_the_bar_and_a_notice_say_why(
    window, session, tmp_path, qtbot, monkeypatch
):
    def missing(*_: object) -> None:
        raise SoundError(SILENCE)

    monkeypatch.setattr(portaudio, "PortAudioOutput", missing)
    film = write_talkie(tmp_path / "film.mp4", EVEN, (0.5,))
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(film))
    mute, bar = window.actions_by_key["mute"], window.playback_bar
    qtbot.waitUntil(lambda: not mute.isEnabled())
    assert mute.toolTip() == bar.volume.toolTip() == SILENCE
    assert not bar.volume.isEnabled()
    assert bar._mute.isVisible()
    assert SILENCE in window.notices.text
    qtbot.waitUntil(lambda: session.position > 0.2)


def test_a_film_without_sound_has_no_controls_of_it(talkie, session, tmp_path, qtbot):
    bar = talkie.playback_bar
    assert bar._mute.isVisible()
    assert talkie.actions_by_key["mute"].toolTip().startswith(tip_of("mute"))
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(write_video(tmp_path / "mute.mp4", 40)))
    qtbot.waitUntil(lambda: not bar._mute.isVisible())
    assert not bar.volume.isVisible()


def test_films_are_told_how_long_it_takes_to_paint_a_frame(talkie, session, qtbot, monkeypatch):
    monkeypatch.setattr(session.metrics, "delay_s", lambda now: 0.125)
    session.paused = False
    qtbot.waitUntil(lambda: session._worker.loop._source._delay == 0.125, timeout=5000)
