"""Optical flow finds the motion of a scene at every pixel, and none in noise or light."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.post.optical_flow import displaced, motion
from utils.opencv import cv2


def structure(height: int, width: int) -> np.ndarray:
    """Return a gray picture with coarse and fine structure to follow everywhere."""
    noise = np.random.default_rng(4).normal(0, 1, (2, height, width)).astype(np.float32)
    blurred = [cv2.GaussianBlur(each, (0, 0), s) for each, s in zip(noise, (2, 8), strict=True)]
    return np.asarray(128 + sum(25 * each / each.std() for each in blurred), np.float32)


WIDE = structure(300, 400)
INSIDE = slice(16, -16)


def view(right: float, down: float, width: int = 160, height: int = 120) -> np.ndarray:
    """Return a part of a wide picture, offset to the right and down from its middle."""
    matrix = np.array([[1, 0, 120 + right], [0, 1, 90 + down]], np.float64)
    how = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpAffine(WIDE, matrix, (width, height), flags=how), np.float32)


@pytest.mark.parametrize("by", [(1.5, -0.5), (4.0, 3.25), (-9.0, 6.0), (0.25, 0.0)], ids=str)
def test_the_motion_of_a_scene_is_found(by):
    found = motion(view(*by), view(0, 0))[INSIDE, INSIDE]
    apart = np.linalg.norm(found - np.float32(by), axis=2)
    assert np.median(apart) < 0.05
    assert np.quantile(apart, 0.9) < 0.1


def test_what_moves_otherwise_is_told_from_the_scene():
    before, now = view(0, 0), view(2, 0)
    thing = view(60, 40, 40, 40)
    before[40:80, 50:90], now[40:80, 53:93] = thing, thing
    found = motion(now, before)
    assert np.median(found[50:70, 63:83, 0]) == pytest.approx(-3, abs=0.2)
    assert np.median(found[INSIDE, INSIDE, 0]) == pytest.approx(2, abs=0.1)


def test_a_scene_that_turns_is_followed():
    turn = cv2.getRotationMatrix2D((80, 60), 2.0, 1.0)
    before = view(0, 0)
    now = np.asarray(cv2.warpAffine(before, turn, (160, 120), flags=cv2.INTER_CUBIC), np.float32)
    back = cv2.invertAffineTransform(turn)
    there = np.dstack(displaced(motion(now, before)))[INSIDE, INSIDE]
    here = np.dstack(displaced(np.zeros((120, 160, 2), np.float32)))[INSIDE, INSIDE]
    expected = here @ back[:, :2].T + back[:, 2]
    assert np.quantile(np.linalg.norm(there - expected, axis=2), 0.9) < 0.3


def test_a_change_of_light_is_no_motion():
    scene = view(0, 0)
    assert np.abs(motion(scene + 12, scene)).max() < 0.05


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 31), (61, 53)], ids=str)
def test_pictures_of_any_size_are_compared(size):
    small = np.ascontiguousarray(view(0, 0)[: size[1], : size[0]])
    found = motion(small, small)
    assert found.shape == (*small.shape, 2)
    assert np.abs(found).max() < 0.01


def test_an_empty_picture_does_not_move():
    empty = np.full((40, 60), 90, np.float32)
    assert not motion(empty, empty).any()
