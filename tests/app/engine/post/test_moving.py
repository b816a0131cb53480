"""A painting follows the scene where its motion is known, and stands still where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.post.moving_reference import ReferenceMover
from kernels.frames.moving import FADE
from kernels.frames.native_moving import NativeMover
from utils.opencv import cv2

SIZE = (90, 160)


@pytest.fixture(params=[NativeMover, ReferenceMover])
def mover(request, native_smoothing):
    return request.param(*SIZE)


def scene(seed: int = 0) -> np.ndarray:
    """Return a picture larger than SIZE, whose parts are frames."""
    noise = np.random.default_rng(seed).integers(0, 256, (150, 220, 3)).astype(np.float32)
    blurred = cv2.GaussianBlur(noise, (0, 0), 3.0)
    return np.clip((blurred - 128) * 5 + 128, 0, 255).astype(np.uint8)


def part(picture: np.ndarray, right: int = 0, down: int = 0) -> np.ndarray:
    height, width = SIZE
    return np.ascontiguousarray(picture[20 + down :, 20 + right :][:height, :width])


def painted(picture: np.ndarray) -> np.ndarray:
    """Return a painting of a picture, which moves exactly as the picture does."""
    return 255 - picture


def apart(a: np.ndarray, b: np.ndarray, border: int = 12) -> float:
    inner = np.s_[border:-border, border:-border]
    return float(np.abs(a[inner].astype(int) - b[inner]).mean())


def test_a_scene_that_stands_still_shows_the_painting_itself(mover):
    frame = part(scene())
    mover.painted(painted(frame), frame)
    for _ in range(2):
        assert (mover.shown(frame) == painted(frame)).all()


def test_noise_does_not_shake_the_painting_of_a_still_scene(mover):
    """A thing moves at the left; everything else differs by the noise of a camera alone."""
    rng = np.random.default_rng(1)
    quiet = np.clip(part(scene()).astype(int) // 8 + 100, 0, 255)  # a wall with faint marks

    def frame(right: int) -> np.ndarray:
        noisy = quiet + rng.integers(-4, 5, quiet.shape)
        noisy[20:60, 10 + right : 40 + right] = part(scene(2))[20:60, 10:40]
        return np.clip(noisy, 0, 255).astype(np.uint8)

    painting = painted(part(scene(3)))  # strong strokes
    mover.painted(painting, frame(0))
    away = np.s_[:, 90:]
    shaken = np.abs(mover.shown(frame(4))[away].astype(int) - painting[away])
    assert (shaken > 2).mean() < 0.02


def test_a_thing_that_turns_at_once_is_not_melted(mover):
    """A disk turns by a third: its motion is right inside, and tears everything at its edge."""
    wide = part(scene())
    turned = cv2.warpAffine(wide, cv2.getRotationMatrix2D((80, 45), 40, 1.0), (160, 90))
    disk = cv2.circle(np.zeros(SIZE, np.uint8), (80, 45), 30, 1, -1)[..., None]
    now = np.where(disk == 1, turned, wide).astype(np.uint8)
    stripes = np.zeros((*SIZE, 3), np.uint8)
    stripes[:, ::8] = stripes[:, 1::8] = stripes[:, 2::8] = stripes[:, 3::8] = 255
    mover.painted(stripes, wide)
    bent = (mover.shown(now).astype(int) != stripes).mean()
    assert bent < 0.093


@pytest.mark.parametrize("motion", [(1, 0), (3, 2), (-5, 4)], ids=str)
def test_the_painting_moves_with_the_scene(mover, motion):
    wide = scene()
    mover.painted(painted(part(wide)), part(wide))
    now = part(wide, *motion)
    assert apart(mover.shown(now), painted(now)) < 0.3 * apart(painted(part(wide)), painted(now))


def test_after_a_cut_the_painting_stays_as_it_was(mover):
    before, after = part(scene(0)), part(scene(1))
    mover.painted(painted(before), before)
    assert (mover.shown(after) == painted(before)).all()


def test_a_new_painting_fades_in(mover):
    frame, other = part(scene()), np.full((*SIZE, 3), 200, np.uint8)
    mover.painted(np.zeros_like(other), frame)
    mover.shown(frame)
    mover.painted(other, frame)
    steps = [int(mover.shown(frame).mean()) for _ in range(FADE + 1)]
    assert steps == [round(200 * step / FADE) for step in (1, 2, 3, 3)]


def test_no_ghost_of_the_scene_before_a_cut_is_mixed_in(mover):
    before, after = part(scene(0)), part(scene(1))
    mover.painted(painted(before), before)
    mover.shown(before)
    mover.painted(painted(after), after)
    assert (mover.shown(after) == painted(after)).all()


def test_what_moves_alone_leaves_the_rest_in_place(mover):
    first = part(scene())
    second, thing = first.copy(), scene(3)[:24, :24]
    first[30:54, 40:64] = thing
    second[30:54, 44:68] = thing
    mover.painted(painted(first), first)
    shown = mover.shown(second)
    assert apart(shown[32:52, 46:66], painted(second)[32:52, 46:66], 2) < 12
    assert apart(shown[:, 100:], painted(second)[:, 100:]) < 1
