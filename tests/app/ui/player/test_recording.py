"""Recordings contain the requested sound, and a light shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.sound import portaudio
from app.sound.device import Heard, Listener, SoundError
from app.ui.controllers.exporter import MICROPHONE_LOST, RECORDED
from tests.app.ui.player.test_player import EVEN, Device
from tests.app.ui.window.conftest import press
from tests.helpers.sound import write_talkie
from utils.pyav import av


class Microphone:
    def __init__(self) -> None:
        self.closed = 0
        self.listener: Listener | None = None
        self.lost: Callable[[], None] = lambda: None

    def open(self, listener: Listener, lost: Callable[[], None]) -> Microphone:
        self.listener, self.lost = listener, lost
        return self

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def films(window, tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(window.exporter, "_recordings_folder", lambda: tmp_path / "films")
    monkeypatch.setattr(portaudio, "PortAudioOutput", Device)
    return tmp_path / "films"


@pytest.fixture
def playing(window, session, films, tmp_path, qtbot):
    film = write_talkie(tmp_path / "film.mkv", EVEN, (0.5, 1.0, 1.5, 2.0, 2.5), codec="pcm_s16le")
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(film))
    qtbot.waitUntil(lambda: window.viewport.styled is not None and session.silence == "")
    return window


def streams(folder: Path) -> tuple[int, int]:
    [path] = folder.iterdir()
    with av.open(str(path)) as film:
        return len(film.streams.video), len(film.streams.audio)


def loudest(folder: Path) -> float:
    [path] = folder.iterdir()
    with av.open(str(path)) as film:
        return max(float(np.abs(frame.to_ndarray()).max()) for frame in film.decode(audio=0))


def end(window, qtbot) -> None:
    press(window, "record")
    qtbot.waitUntil(lambda: window.notices.text.startswith("Saved "), timeout=5000)


def test_the_key_says_what_recordings_will_have(window):
    for choice in ("film", "microphone", "none"):
        press(window, "record_sound")
        assert window.notices.text == RECORDED[choice]
        assert window.settings.value.record_sound == choice
        text = window.actions_by_key["record_sound"].text()
        assert text == f"Sound of recordings: {choice}"


def test_a_recording_has_the_sound_of_the_film_though_it_is_muted(playing, films, qtbot):
    press(playing, "record_sound")
    press(playing, "mute")
    press(playing, "record")
    qtbot.waitUntil(lambda: (playing.exporter.recorded or (0, 0))[0] > 1.0, timeout=8000)
    end(playing, qtbot)
    assert streams(films) == (1, 1)
    assert loudest(films) > 0.5


def test_a_recording_without_being_asked_has_no_sound(playing, films, qtbot):
    press(playing, "record")
    qtbot.waitUntil(lambda: (playing.exporter.recorded or (0, 0))[0] > 0.1, timeout=8000)
    end(playing, qtbot)
    assert streams(films) == (1, 0)


def test_a_recording_has_the_sound_of_the_microphone(playing, films, qtbot):
    microphone = Microphone()
    playing.exporter._open_microphone = microphone.open
    playing.settings.update(record_sound="microphone")
    press(playing, "record")
    assert playing.actions_by_key["record"].isChecked()
    qtbot.waitUntil(lambda: playing.exporter.recorded is not None)
    spoken = np.full((4800, 1), 0.7, np.float32)
    for _ in range(4):
        with qtbot.waitSignal(playing.session.styled, timeout=5000) as styled:
            pass
        assert microphone.listener is not None
        microphone.listener(Heard(spoken, 48_000, styled.args[0].source.moment))
    microphone.lost()
    qtbot.waitUntil(lambda: playing.notices.text == MICROPHONE_LOST)
    with qtbot.waitSignals([playing.session.styled] * 4, timeout=5000):
        pass
    end(playing, qtbot)
    qtbot.waitUntil(lambda: microphone.closed == 1)
    assert streams(films) == (1, 1)
    assert loudest(films) > 0.4


def test_without_a_microphone_there_is_a_problem_and_no_recording(playing, films, qtbot):
    def missing(*_: object) -> Microphone:
        raise SoundError("There is no microphone: connect one")

    playing.exporter._open_microphone = missing
    playing.settings.update(record_sound="microphone")
    press(playing, "record")
    qtbot.waitUntil(lambda: bool(playing.problems.problems), timeout=5000)
    assert "There is no microphone" in playing.problems.problems[0].summary
    assert not playing.actions_by_key["record"].isChecked()
    assert not films.exists()


def test_who_presses_again_before_the_microphone_is_there_records_nothing(playing, films, qtbot):
    microphone = Microphone()
    playing.exporter._open_microphone = microphone.open
    playing.settings.update(record_sound="microphone")
    playing.exporter.record()
    playing.exporter.record()
    qtbot.waitUntil(lambda: microphone.closed == 1)
    assert not playing.exporter.recording
    assert not films.exists()


def test_a_light_tells_time_and_size_while_something_is_recorded(playing, films, qtbot):
    light = playing.recording_light
    assert not light.isVisible()
    press(playing, "record")
    assert light.isVisible()
    qtbot.waitUntil(lambda: light.text.startswith("0:01") and "MB" in light.text, timeout=8000)
    assert light.accessibleDescription() == light.text
    assert playing.viewport.rect().contains(light.geometry())
    end(playing, qtbot)
    assert not light.isVisible()


@pytest.mark.full
def test_of_a_source_without_sound_a_recording_says_that_it_has_none(playing, films, qtbot):
    press(playing, "record_sound")
    with qtbot.waitSignal(playing.session.styled, timeout=5000):
        playing.session.open("scene")
    qtbot.waitUntil(lambda: playing.session.silence is None, timeout=20_000)
    press(playing, "record")
    assert "without sound" in playing.notices.text
    press(playing, "record")
