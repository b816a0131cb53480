"""The strokes of a painting decide how strokes lie in a style that is made from it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.styles.painted_strokes import Strokes, measure_brushwork, strokes_of
from utils.opencv import cv2

HEIGHT, WIDTH = 192, 256


def brushed(
    angle: float | None, length: int, *, seed: int = 0, many: int = 4000
) -> NDArray[np.uint8]:
    """Paint strokes of a length in pixels at an angle, or along circles without one."""
    rng = np.random.default_rng(seed)
    painting = np.full((HEIGHT, WIDTH, 3), 128, np.uint8)
    for x, y, level in rng.integers(0, (WIDTH, HEIGHT, 256), (many, 3)):
        way = (
            np.arctan2(y - HEIGHT / 2, x - WIDTH / 2) + np.pi / 2
            if angle is None
            else -np.radians(angle)
        )
        right, down = round(np.cos(way) * length / 2), round(np.sin(way) * length / 2)
        ends = (int(x) - right, int(y) - down), (int(x) + right, int(y) + down)
        cv2.line(painting, *ends, (int(level),) * 3, 3, cv2.LINE_AA)
    return painting


def dabs() -> NDArray[np.uint8]:
    rng = np.random.default_rng(1)
    painting = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for x, y, level in rng.integers(0, (WIDTH, HEIGHT, 256), (4000, 3)):
        cv2.circle(painting, (int(x), int(y)), 3, (int(level),) * 3, -1, cv2.LINE_AA)
    return painting


def flat() -> NDArray[np.uint8]:
    """Paint areas of one color with long contours."""
    painting = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    painting[110:] = 60
    cv2.circle(painting, (180, 60), 40, (230, 120, 40), -1, cv2.LINE_AA)
    cv2.line(painting, (0, 180), (120, 20), (20, 20, 20), 3, cv2.LINE_AA)
    return painting


@pytest.mark.parametrize("angle", [0.0, 30.0, 90.0, 135.0], ids=str)
def test_parallel_strokes_give_their_angle(angle):
    found = strokes_of(brushed(angle, 40)).direction
    assert isinstance(found, float)
    assert min((found - angle) % 180, (angle - found) % 180) <= 3


def test_long_strokes_that_turn_follow_the_picture():
    assert strokes_of(brushed(None, 40)).direction == "follow"


def test_longer_strokes_are_longer():
    lengths = [strokes_of(brushed(None, length)).length for length in (5, 8, 11, 24)]
    assert lengths == sorted(lengths)
    assert lengths[0] < 0.3
    assert lengths[-1] > 0.7


def test_strokes_without_a_direction_stay_as_they_are():
    found = measure_brushwork(dabs())
    assert found.share > 0.9
    assert strokes_of(dabs()).direction == "none"


def test_contours_are_no_strokes():
    found = measure_brushwork(flat())
    assert found.share < 0.2
    assert strokes_of(flat()) == Strokes("none", 0.5)


def test_a_painting_of_one_color_has_no_strokes():
    found = measure_brushwork(np.full((40, 60, 3), 90, np.uint8))
    assert found.share == 0
    assert strokes_of(np.full((40, 60, 3), 90, np.uint8)).direction == "none"


@pytest.mark.parametrize("scale", [0.8, 2.0], ids=["smaller", "larger"])
def test_the_size_of_the_file_does_not_matter(scale):
    painting = brushed(None, 40)
    size = round(WIDTH * scale), round(HEIGHT * scale)
    scaled = cv2.resize(painting, size, interpolation=cv2.INTER_AREA)
    other = strokes_of(np.asarray(scaled, np.uint8))
    assert other.direction == "follow"
    assert other.length == pytest.approx(strokes_of(painting).length, abs=0.15)


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 2)], ids=["dot", "row", "column"])
def test_the_narrowest_pictures_are_measured(shape):
    assert strokes_of(np.zeros((*shape, 3), np.uint8)).direction == "none"


def test_the_same_strokes_lie_across_a_picture_that_was_turned():
    painting = brushed(30.0, 40)
    turned = np.ascontiguousarray(np.rot90(painting))  # counterclockwise
    assert strokes_of(turned).direction == pytest.approx(120.0, abs=3)
