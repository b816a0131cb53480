"""The sound of a film is decoded without gaps, from any time, and keeps its times."""

from __future__ import annotations

import numpy as np
import pytest

from app.sound.device import SoundError
from app.sound.film_sound import FilmSound
from tests.helpers.fakes import write_video
from tests.helpers.sound import beginnings, write_talkie

FRAMES = [n / 25 for n in range(75)]
BEEPS = (0.5, 1.0, 1.72, 2.4)


def whole(sound: FilmSound) -> np.ndarray:
    pieces = []
    while (piece := sound.read()) is not None:
        pieces.append(piece)
    return np.concatenate(pieces)


@pytest.mark.parametrize(
    ("name", "codec", "rate"),
    [("a.mp4", "aac", 44_100), ("b.mkv", "libopus", 48_000), ("c.mov", "pcm_s16le", 22_050)],
)
def test_beeps_are_read_at_their_times(tmp_path, name, codec, rate):
    path = write_talkie(tmp_path / name, FRAMES, BEEPS, rate, codec)
    for channels in (1, 2):
        sound = FilmSound(str(path), 48_000, channels)
        samples = whole(sound)
        assert samples.shape[1] == channels
        assert beginnings(samples, 48_000) == pytest.approx(BEEPS, abs=0.004)
        sound.close()


def test_reading_begins_at_the_time_that_is_sought(tmp_path):
    sound = FilmSound(str(write_talkie(tmp_path / "a.mp4", FRAMES, BEEPS)), 48_000, 2)
    for seconds in (1.5, 0.25, 0.0, 2.3):
        sound.seek(seconds)
        later = [beep - seconds for beep in BEEPS if beep > seconds]
        assert beginnings(whole(sound), 48_000) == pytest.approx(later, abs=0.004)
    sound.close()


def test_sound_that_begins_late_is_preceded_by_silence(tmp_path):
    path = write_talkie(tmp_path / "late.mkv", FRAMES, BEEPS, starts=0.9, seconds=1.2)
    sound = FilmSound(str(path), 48_000, 1)
    samples = whole(sound)
    assert beginnings(samples, 48_000) == pytest.approx([1.0, 1.72], abs=0.004)
    assert not samples[: int(0.85 * 48_000)].any()
    sound.close()


def test_of_several_streams_the_default_is_heard(tmp_path):
    path = write_talkie(tmp_path / "two.mkv", FRAMES, BEEPS, volumes=(0.2, 0.9), default=1)
    sound = FilmSound(str(path), 48_000, 1)
    assert np.abs(whole(sound)).max() > 0.6
    sound.close()


def test_a_gap_in_the_sound_is_silence_and_what_follows_stays_in_place(tmp_path):
    path = write_talkie(tmp_path / "a.mkv", FRAMES, BEEPS, codec="pcm_s16le", hole=(0.6, 0.9))
    sound = FilmSound(str(path), 48_000, 1)
    samples = whole(sound)
    assert len(samples) == pytest.approx(3.0 * 48_000, rel=0.01)
    assert beginnings(samples, 48_000) == pytest.approx(BEEPS, abs=0.004)
    sound.close()


def test_a_film_without_sound_is_told(tmp_path):
    with pytest.raises(SoundError, match="no sound"):
        FilmSound(str(write_video(tmp_path / "mute.mp4", 5)), 48_000, 2)
