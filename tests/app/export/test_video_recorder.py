"""A recording is a film that plays as the stream did, or one sentence and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.export.video_recorder import FPS, Recording, RecordingError
from utils.opencv import cv2


def plain(level: int, width: int = 64, height: int = 48) -> np.ndarray:
    return np.full((height, width, 3), (level, level, 255 - level), np.uint8)


def fed(recording: Recording, pixels: np.ndarray, at: float) -> None:
    """Add a frame as a slow stream does: the writer is done with the one before."""
    while not recording._queue.empty():
        pass
    recording.add(pixels, at)


def frames(path: Path) -> list[np.ndarray]:
    film = cv2.VideoCapture(str(path))
    assert film.get(cv2.CAP_PROP_FPS) == FPS
    read = []
    while True:
        good, frame = film.read()
        if not good:
            return read
        read.append(frame[..., ::-1])


class Uncopied(np.ndarray):
    """Pixels so many that copying them would take long."""

    def copy(self, order: object = "C") -> np.ndarray:
        raise AssertionError("the window waited for a copy")


def test_a_frame_is_taken_over_without_a_copy(tmp_path):
    recording = Recording(tmp_path / "film.mp4")
    fed(recording, plain(40).view(Uncopied), 10.0)
    fed(recording, plain(200).view(Uncopied), 10.1)
    assert len(frames(recording.finish())) == 4


def test_a_film_shows_every_frame_for_as_long_as_it_was_on_screen(tmp_path):
    recording = Recording(tmp_path / "new" / "film.mp4")
    for at, level in ((10.0, 40), (10.5, 200), (11.0, 90)):
        fed(recording, plain(level), at)
    path = recording.finish()
    levels = [float(frame[..., 0].mean()) for frame in frames(path)]
    assert len(levels) == FPS + 1
    assert levels[:15] == pytest.approx([40] * 15, abs=8)
    assert levels[15:30] == pytest.approx([200] * 15, abs=8)
    assert levels[30] == pytest.approx(90, abs=8)
    blue = frames(path)[0][..., 2].mean()
    assert blue == pytest.approx(215, abs=8)
    assert [p.name for p in path.parent.iterdir()] == ["film.mp4"]


def test_a_pause_is_left_out(tmp_path):
    recording = Recording(tmp_path / "film.mp4")
    for at in (0.0, 0.5, 600.0, 600.5):
        fed(recording, plain(80), at)
    assert len(frames(recording.finish())) == pytest.approx(FPS + 2, abs=1)


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
    with pytest.raises(RecordingError, match=r"the video 'film\.mp4' could not be written: \w"):
        recording.finish()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    recording = Recording(tmp_path / "film.mp4")
    noise = np.random.default_rng(0).integers(0, 256, (8, 480, 640, 3), np.uint8)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        for index in range(40):
            fed(recording, noise[index % 8], index / FPS)
        with pytest.raises(RecordingError, match="the disk may be full"):
            recording.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_without_a_picture_there_is_no_film(tmp_path):
    with pytest.raises(RecordingError, match="there was no picture to record"):
        Recording(tmp_path / "film.mp4").finish()
