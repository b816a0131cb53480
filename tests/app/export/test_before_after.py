"""A picture and its painting as one picture, as a film and as an animation."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageSequence

from app.export.before_after.composing import LINE, composed, line_width, side_by_side, split
from app.export.before_after.wipe import SECONDS, WipeError, places, write_wipe
from tests.helpers.errors import refused
from utils.pyav import av

HEIGHT, WIDTH = 96, 160
BEFORE = np.full((HEIGHT, WIDTH, 3), (200, 30, 30), np.uint8)
AFTER = np.full((HEIGHT, WIDTH, 3), (20, 60, 180), np.uint8)


def near(pixels: np.ndarray, other: np.ndarray, most: int = 12) -> bool:
    """Return whether the median difference is at most `most`; it ignores artifacts at edges."""
    return bool(np.median(np.abs(pixels.astype(int) - other.astype(int))) <= most)


def test_side_by_side_both_pictures_are_whole_with_a_thin_line_between():
    made = side_by_side(BEFORE, AFTER)
    line = line_width(WIDTH)
    assert made.shape == (HEIGHT, 2 * WIDTH + line, 3)
    assert np.array_equal(made[:, :WIDTH], BEFORE)
    assert (made[:, WIDTH : WIDTH + line] == LINE).all()
    assert np.array_equal(made[:, WIDTH + line :], AFTER)


def test_split_the_original_is_left_and_the_painting_right_of_the_line():
    made = split(BEFORE, AFTER, 0.25)
    assert made.shape == BEFORE.shape
    assert np.array_equal(made[:, :38], BEFORE[:, :38])
    assert (made[:, 39:41] == LINE).all()
    assert np.array_equal(made[:, 42:], AFTER[:, 42:])


def test_at_the_ends_there_is_no_line():
    assert np.array_equal(split(BEFORE, AFTER, 0.0), AFTER)
    assert np.array_equal(split(BEFORE, AFTER, 1.0), BEFORE)


def test_the_line_is_thin_in_large_pictures_and_seen_in_small_ones():
    assert line_width(4000) == 10
    assert line_width(100) == 2
    assert all(line_width(width) % 2 == 0 for width in range(1, 6000, 7))


def test_what_is_composed_does_not_change_the_pictures():
    before, after = BEFORE.copy(), AFTER.copy()
    composed(before, after, "side")
    composed(before, after, "split")
    assert np.array_equal(before, BEFORE)
    assert np.array_equal(after, AFTER)


# A wipe


def test_a_wipe_begins_with_the_picture_and_ends_with_the_painting():
    line = places(30)
    assert len(line) == SECONDS * 30
    assert line[0] == line[15] == 1.0
    assert line[-1] == line[-30] == 0.0
    assert line == sorted(line, reverse=True)


def test_a_wipe_is_a_film_of_six_seconds(tmp_path):
    path = tmp_path / "wipe.mp4"
    write_wipe(path, BEFORE, AFTER)
    with av.open(str(path)) as film:
        [stream] = film.streams
        assert stream.codec_context.name == "h264"
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert len(frames) == SECONDS * 30
    assert near(frames[0], BEFORE)
    assert near(frames[-1], AFTER)
    middle = frames[len(frames) // 2 - 8]
    assert near(middle[:, :20], BEFORE[:, :20])
    assert near(middle[:, -20:], AFTER[:, -20:])
    assert list(tmp_path.iterdir()) == [path]


def test_a_wipe_is_a_gif_that_is_played_for_ever_and_holds_little_more_than_two_pictures(tmp_path):
    noise = np.random.default_rng(0)
    before = noise.integers(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
    path = tmp_path / "wipe.gif"
    write_wipe(path, before, 255 - before)
    with Image.open(path) as animation:
        assert animation.info["loop"] == 0
        times, shown = [], []
        for frame in ImageSequence.Iterator(animation):
            times.append(frame.info["duration"])
            shown.append(np.asarray(frame.convert("RGB")))
    assert sum(times) == SECONDS * 1000
    assert np.abs(shown[0].astype(int) - before).mean() < 40  # 255 colors, dithered
    assert np.abs(shown[-1].astype(int) - (255 - before)).mean() < 40
    assert path.stat().st_size < 3 * 2 * HEIGHT * WIDTH


def test_large_pictures_are_scaled_to_what_players_take(tmp_path):
    large = np.zeros((1501, 3001, 3), np.uint8)
    write_wipe(tmp_path / "large.gif", large, large)
    with Image.open(tmp_path / "large.gif") as animation:
        assert animation.size == (640, 320)


def test_odd_sides_are_cut_to_even_ones(tmp_path):
    write_wipe(tmp_path / "odd.mp4", BEFORE[:95, :159].copy(), AFTER[:95, :159].copy())
    with av.open(str(tmp_path / "odd.mp4")) as film:
        assert (film.streams.video[0].width, film.streams.video[0].height) == (158, 94)


def test_another_ending_is_refused(tmp_path):
    with refused(WipeError, film=".mp4", animation=".gif"):
        write_wipe(tmp_path / "wipe.avi", BEFORE, AFTER)
    assert not list(tmp_path.iterdir())
