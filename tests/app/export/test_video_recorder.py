"""A recording plays as the stream did, or ends in one sentence and what was recorded so far."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from app.export.recording_file import FPS
from app.export.video_recorder import QUEUE_SIZE, Recording, RecordingError
from app.sound.device import Heard
from app.sound.film_sound import FilmSound
from app.sources.video_decoder import VideoReader
from tests.helpers.sound import beginnings, settle
from utils.pyav import av


def plain(level: int, width: int = 64, height: int = 48) -> np.ndarray:
    return np.full((height, width, 3), (level, level, 255 - level), np.uint8)


def fed(recording: Recording, pixels: np.ndarray, at: float) -> None:
    """Add a frame as a slow stream does, after the writer has finished the one before."""
    settle(lambda: not recording._frames)
    recording.add(pixels, at)


def timed(path: Path) -> list[tuple[float, np.ndarray]]:
    with av.open(str(path)) as film:
        return [
            (float(frame.time or 0.0), frame.to_ndarray(format="rgb24"))
            for frame in film.decode(film.streams.video[0])
        ]


def frames(path: Path) -> list[np.ndarray]:
    return [pixels for _, pixels in timed(path)]


def beeping(at: float, seconds: float, beeps: tuple[float, ...], rate: int = 44_100) -> list[Heard]:
    """Return blocks of 20 ms, heard from `at` on, with beeps at the given times."""
    wave = np.zeros((round(seconds * rate), 1), np.float32)
    tone = 0.8 * np.sin(2 * np.pi * 1000 * np.arange(rate // 50) / rate)
    for beep in beeps:
        first = round((beep - at) * rate)
        wave[first : first + len(tone), 0] = tone[: len(wave) - first]
    size = rate // 50
    return [
        Heard(wave[first : first + size], rate, at + first / rate)
        for first in range(0, len(wave), size)
    ]


def beeps_of(path: Path) -> list[float]:
    sound, pieces = FilmSound(str(path), 48_000, 1), []
    while (piece := sound.read()) is not None:
        pieces.append(piece)
    sound.close()
    return beginnings(np.concatenate(pieces), 48_000)


def recorded(recording: Recording, frames: list[float], heard: list[Heard]) -> Path:
    """Record frames and sound in the order of their times, the sound a little late."""
    things = [(at, None) for at in frames] + [(each.at + 0.1, each) for each in heard]
    for at, each in sorted(things, key=lambda thing: thing[0]):
        if each is None:
            fed(recording, plain(80), at)
        else:
            recording.hear(each)
    return recording.finish()


class Uncopied(np.ndarray):
    """Pixels that must not be copied, since a copy could take long."""

    def copy(self, order: object = "C") -> np.ndarray:
        raise AssertionError("the window waited for a copy")


def test_a_frame_is_taken_over_without_a_copy(tmp_path):
    recording = Recording(tmp_path / "film.mp4")
    fed(recording, plain(40).view(Uncopied), 10.0)
    fed(recording, plain(200).view(Uncopied), 10.1)
    assert len(frames(recording.finish())) == 2


def test_a_film_shows_every_frame_at_its_time(tmp_path):
    recording = Recording(tmp_path / "new" / "film.mp4")
    times = (10.0, 10.5, 10.51, 11.07)
    for at, level in zip(times, (40, 200, 90, 120), strict=True):
        fed(recording, plain(level), at)
    path = recording.finish()
    assert recording.seconds == pytest.approx(1.07)
    assert [at for at, _ in timed(path)] == pytest.approx([at - 10 for at in times], abs=1e-4)
    levels = [float(frame[..., 0].mean()) for frame in frames(path)]
    assert levels == pytest.approx([40, 200, 90, 120], abs=8)
    blue = frames(path)[0][..., 2].mean()
    assert blue == pytest.approx(215, abs=8)
    assert [p.name for p in path.parent.iterdir()] == ["film.mp4"]


def test_a_pause_is_left_out(tmp_path):
    recording = Recording(tmp_path / "film.mp4")
    for at in (0.0, 0.5, 600.0, 600.5):
        fed(recording, plain(80), at)
    shown = [at for at, _ in timed(recording.finish())]
    assert shown == pytest.approx([0, 0.5, 0.5 + 1 / FPS, 1 + 1 / FPS], abs=1e-3)


def test_frames_that_come_faster_than_they_are_written_are_dropped_and_counted(tmp_path):
    recording = Recording(tmp_path / "film.mp4")
    with recording._changed:  # blocks the writer
        for number in range(QUEUE_SIZE + 3):
            recording.add(plain(80), number / 30)
    assert recording.dropped == 3
    assert len(frames(recording.finish())) == QUEUE_SIZE


# With sound


def test_sound_is_recorded_in_step_with_frames_of_any_rate(tmp_path):
    recording = Recording(tmp_path / "film.mp4", sound=True)
    times = [10 + n / 10 for n in range(20)] + [12 + n / 50 for n in range(50)]
    path = recorded(recording, times, beeping(9.6, 3.6, (9.9, 10.5, 11.8, 12.6)))
    assert beeps_of(path) == pytest.approx([0.5, 1.8, 2.6], abs=0.01)
    assert [at for at, _ in timed(path)] == pytest.approx([at - 10 for at in times], abs=1e-3)


@pytest.mark.parametrize("drift", [0.99, 1.01], ids=["slower", "faster"])
def test_sound_of_a_device_that_is_not_exact_stays_in_step(tmp_path, drift):
    rate = 44_100
    blocks = beeping(0.0, 6.2, (5.0,), rate)
    late = [Heard(each.samples, rate, each.at * drift) for each in blocks]
    recording = Recording(tmp_path / "film.mp4", sound=True)
    path = recorded(recording, [n / 10 for n in range(60)], late)
    assert beeps_of(path) == pytest.approx([5.0 * drift], abs=0.04)


def test_sound_of_a_pause_is_left_out_with_it(tmp_path):
    recording = Recording(tmp_path / "film.mp4", sound=True)
    times = [n / 10 for n in range(11)] + [9 + n / 10 for n in range(11)]
    path = recorded(recording, times, beeping(0.0, 11.0, (0.5, 5.0, 9.5)))
    assert beeps_of(path) == pytest.approx([0.5, 1.5 + 1 / FPS], abs=0.01)


def test_where_a_device_is_lost_there_is_silence_and_the_picture_goes_on(tmp_path):
    recording = Recording(tmp_path / "film.mp4", sound=True)
    heard = beeping(0.0, 0.7, (0.5,)) + beeping(2.5, 0.5, (2.7,), 16_000)
    path = recorded(recording, [n / 10 for n in range(40)], heard)
    assert beeps_of(path) == pytest.approx([0.5, 2.7], abs=0.01)
    assert len(frames(path)) == 40
    with av.open(str(path)) as film:
        sound = film.streams.audio[0]
        length = (sound.duration or 0) * (sound.time_base or 0)
        assert float(length) == pytest.approx(3.93, abs=0.05)


def test_without_being_asked_there_is_no_sound(tmp_path):
    path = recorded(Recording(tmp_path / "film.mp4"), [0.0, 0.1], [])
    with av.open(str(path)) as film:
        assert not film.streams.audio


# What can go wrong


@pytest.mark.parametrize(("width", "height"), [(65, 49), (128, 96), (40, 100)])
def test_frames_of_other_sizes_are_fitted_in(tmp_path, width, height):
    recording = Recording(tmp_path / "film.mp4")
    fed(recording, plain(80), 0.0)
    fed(recording, plain(250, width, height), 0.1)
    last = frames(recording.finish())[-1]
    assert last.shape == (48, 64, 3)
    assert last[24, 32, 0] > 230
    bars = last[24, 2, 0] < 40
    assert bars == (width < height)


def test_a_film_that_cannot_be_written_is_one_sentence_and_leaves_nothing(tmp_path):
    (tmp_path / "file").touch()
    recording = Recording(tmp_path / "file" / "film.mp4")
    recording.add(plain(40), 0.0)
    with pytest.raises(RecordingError, match=r"'film\.mp4' .*: \w"):
        recording.finish()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_told_and_keeps_what_was_recorded_until_then(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    recording = Recording(tmp_path / "film.mp4", sound=True)
    noise = np.random.default_rng(0).integers(0, 256, (8, 240, 320, 3), np.uint8)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, before[1]))
    try:
        with suppress(RecordingError):
            for index in range(200):
                fed(recording, noise[index % 8], index / FPS)
                recording.hear(Heard(np.zeros((1600, 1), np.float32), 48_000, index / FPS))
        with pytest.raises(RecordingError, match=r"too large; .* holds the"):
            recording.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4"]
    shown = list(VideoReader(tmp_path / "film.mp4"))  # its last frame may be truncated
    assert len(shown) >= FPS
    assert [at for at, _ in shown] == pytest.approx([n / FPS for n in range(len(shown))], abs=1e-3)


def test_a_full_disk_from_the_start_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    recording = Recording(tmp_path / "film.mp4")
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        fed(recording, plain(80), 0.0)
        with pytest.raises(RecordingError, match="file too large"):
            recording.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_without_a_picture_there_is_no_film(tmp_path):
    with pytest.raises(RecordingError, match="no picture to record"):
        Recording(tmp_path / "film.mp4").finish()
