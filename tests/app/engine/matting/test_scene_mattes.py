"""A person is what differs from the empty scene, in changing light and with sharp edges."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from app.engine.matting import refining
from app.engine.matting.difference import CHECKED, CHECKS, Trouble
from app.engine.matting.files import MatteError
from app.engine.matting.scene import FRAMES, LEARNED_S, Scene, SceneLearner, median_of
from app.engine.matting.source import SceneMatte
from tests.app.engine.matting.scenes import (
    HEIGHT,
    WIDTH,
    Pixels,
    clothes,
    empty,
    noisy,
    overlap,
    person_at,
    room,
    seen,
    walk,
)
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from utils.opencv import cv2


def _enlarged(picture: Pixels, height: int, width: int) -> Pixels:
    how = cv2.INTER_CUBIC
    return np.asarray(cv2.resize(picture, (width, height), interpolation=how), np.uint8)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene.of_frames(empty(FRAMES))


@pytest.fixture
def mattes(scene) -> SceneMatte:
    return SceneMatte(scene, "room")


@pytest.mark.parametrize(
    "conditions", some_daily([{}, {"light": 1.1}, {"light": 0.9}, {"shadow": 0.3}], 1, 3), ids=str
)
def test_the_matte_is_the_person_who_walks(mattes, conditions):
    found = [
        overlap(mattes.of(frame, 0.0, continues=n > 0).at(frame), true)
        for n, (frame, true) in enumerate(walk(16, **conditions))
    ]
    assert min(found[4:]) > 0.9
    assert mattes.trouble == ""


def test_a_person_is_as_large_as_the_matte(scene, monkeypatch):
    monkeypatch.setattr(refining, "is_ready", lambda: False)  # the native library has the same bits
    mattes = SceneMatte(scene, "room")
    sizes = [
        mattes.of(frame, 0.0, continues=n > 0).at(frame).sum() / true.sum()
        for n, (frame, true) in enumerate(walk(10))
    ]
    assert 0.98 < fmean(sizes[4:]) < 1.02


def test_a_scene_in_a_picture_finds_the_person_too(scene):
    mattes = SceneMatte(Scene.of_picture(room()))
    frame, true = next(walk(1))
    assert overlap(mattes.of(frame, 0.0, continues=False).at(frame), true) > 0.9


def test_an_empty_scene_has_no_person(mattes):
    for n, frame in enumerate(empty(4)):
        assert mattes.of(frame, 0.0, continues=n > 0).at(frame).max() < 0.05


def test_light_that_changes_slowly_is_no_person(mattes):
    for n, light in enumerate(np.linspace(1, 1.25, 24)):
        frame = noisy(room() * light, n)
        assert mattes.of(frame, 0.0, continues=n > 0).at(frame).mean() < 0.01


def test_a_matte_of_someone_who_stands_still_does_not_flicker(mattes):
    true = person_at(320)
    around = cv2.morphologyEx(true, cv2.MORPH_GRADIENT, np.ones((7, 7))) > 0
    before, changes = None, []
    for n in range(14):
        frame = seen(true, n)
        now = mattes.of(frame, 0.0, continues=n > 0).at(frame)
        if before is not None and n > 4:
            changes.append(np.abs(now - before)[around].mean())
        before = now
    assert fmean(changes) < 0.02


def test_a_small_hole_in_a_person_is_closed(mattes):
    true = person_at(320)
    frame = seen(true, 0)
    frame[300:312, 320:336] = room()[300:312, 320:336]
    assert mattes.of(frame, 0.0, continues=False).at(frame)[300:312, 320:336].min() > 0.9


def test_the_wall_under_an_arm_stays_background(mattes):
    true = person_at(320)
    true[240:300, 300:400] = 0
    frame = seen(true, 0)
    assert mattes.of(frame, 0.0, continues=False).at(frame)[256:284, 320:380].max() < 0.1


def test_edges_are_as_sharp_as_the_frame(mattes):
    large = (HEIGHT * 2, WIDTH * 2)
    true = cv2.resize((person_at(320) > 0.5).astype(np.uint8), large[::-1], interpolation=0)
    wide = [_enlarged(each, *large) for each in (room(), clothes())]
    frame = np.where(true[..., None] > 0, wide[1], wide[0])
    scene = SceneMatte(Scene.of_picture(wide[0]))
    sharp = scene.of(frame, 0.0, continues=False).at(frame)
    assert overlap(sharp, true.astype(np.float32)) > 0.95


def test_feather_softens_the_edge_and_nothing_else(mattes):
    frame, true = next(walk(1))
    soft, sharp = (mattes.of(frame, each, continues=False).at(frame) for each in (1.0, 0.0))
    edges = [((share > 0.1) & (share < 0.9)).mean() for share in (soft, sharp)]
    assert edges[0] > 2 * edges[1]
    assert soft[true < 1][:100].max() < 0.5


def test_a_camera_that_moves_is_named_as_the_trouble(mattes):
    moved = np.roll(room(), (6, 9), (0, 1))
    for n in range(CHECKED * CHECKS):
        mattes.of(noisy(moved.astype(float), n), 0.0, continues=n > 0)
    assert mattes.trouble == Trouble.MOVED.value
    for _ in range(CHECKED):
        mattes.of(empty(1)[0], 0.0, continues=True)
    assert mattes.trouble == ""


@pytest.mark.parametrize(("pixels", "trouble"), [(1, ""), (2, Trouble.MOVED.value)])
def test_a_camera_may_shake_by_a_pixel(mattes, pixels, trouble):
    moved = np.roll(room(), pixels, 1)
    for n in range(CHECKED * CHECKS):
        mattes.of(noisy(moved.astype(float), n), 0.0, continues=n > 0)
    assert mattes.trouble == trouble


def test_light_that_jumps_is_named_as_the_trouble(mattes):
    other = 255 - room().astype(float)
    for n in range(CHECKED * CHECKS):
        mattes.of(noisy(other, n), 0.0, continues=n > 0)
    assert mattes.trouble == Trouble.OTHER_LIGHT.value


def test_a_frame_of_another_shape_is_refused(mattes):
    with pytest.raises(MatteError) as error:
        mattes.of(np.zeros((100, 100, 3), np.uint8), 0.0, continues=False)
    assert mentions(str(error.value), "room", "100x100")


def test_a_frame_of_another_size_is_not(scene):
    large = _enlarged(next(walk(1))[0], 2 * HEIGHT, 2 * WIDTH)
    assert SceneMatte(scene).of(large, 0.0, continues=False).at(large).shape == (720, 1280)


# Learning


def test_a_scene_is_learned_from_frames_over_some_seconds():
    learner = SceneLearner()
    frames, found = empty(FRAMES), []
    for n in range(200):
        scene = learner.take(frames[n % FRAMES], n / 30)
        if scene is not None:
            found.append((n / 30, scene))
            break
    ((seconds, scene),) = found
    assert seconds == pytest.approx(LEARNED_S, abs=0.1)
    assert np.abs(scene.colors - room()).mean() < 1.5
    assert 1.5 < np.median(scene.noise) < 4


def test_something_that_passes_is_not_part_of_the_scene():
    learner = SceneLearner()
    scene = None
    for n in range(FRAMES):
        true = person_at(300 + 70 * n)
        scene = learner.take(seen(true, n), n)
    assert scene is not None
    assert np.abs(scene.colors - room()).mean() < 2


def test_frames_of_another_size_begin_again():
    learner = SceneLearner()
    learner.take(empty(1)[0], 0.0)
    assert learner.share > 0
    learner.take(np.zeros((90, 160, 3), np.uint8), 1.0)
    assert learner.share == 1 / FRAMES


@pytest.mark.parametrize("count", [1, 3, 15])
def test_the_median_of_pictures_is_numpys(count):
    pictures = [np.random.default_rng(n).integers(0, 256, (5, 7, 3), np.uint8)
                for n in range(count)]  # fmt: skip
    assert (median_of(pictures) == np.median(pictures, axis=0)).all()
