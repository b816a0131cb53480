"""Shaders add the texture of the CPU's library to a stream's frames, within 1 of 255."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.sources.scene import render
from kernels.frames.combing import Comb
from kernels.frames.noise import tracked_size
from kernels.network.webgpu.device import Copy
from kernels.network.webgpu.texture import motion
from kernels.network.webgpu.texture.stream import WebGpuTexture
from tests.helpers.daily import matrix, some_daily
from tests.kernels.frames.native import native_texture
from tests.kernels.frames.test_texture import COMBS, VIEW, painting, pale, views
from tests.kernels.network.webgpu.test_plan import SMALL, Painter
from utils.opencv import cv2
from utils.stroke_directions import FOLLOW

ALL_COMBS = (None, *COMBS)


class Native:
    """A stream in the CPU's library."""

    def __init__(self, height: int, width: int) -> None:
        self._library = native_texture()
        self.history = self._library.new_texture(height, width)

    def __call__(self, pixels, amount=1.0, *, continues=False, comb=None) -> np.ndarray:
        given = np.ascontiguousarray(pixels)
        made = np.empty_like(given)
        self._library.texture(self.history, given, made, amount, continues=continues, comb=comb)
        return made

    def enlarge(self, picture, textured) -> None:
        self._library.enlarge_texture(self.history, picture, textured)

    @property
    def offset(self) -> list[float]:
        return self.history.offset.tolist()

    @property
    def presence(self) -> float:
        return float(self.history.presence)


class Shaders:
    """A stream on a GPU."""

    def __init__(self, device, height: int, width: int) -> None:
        self.device, self.texture = device, WebGpuTexture(device, (width, height))
        self._picture = device.allocate(3 * height * width)
        self._memory = device.readback(self._picture.size)

    def __call__(self, pixels, amount=1.0, *, continues=False, comb=None) -> np.ndarray:
        return self.given(
            pixels,
            lambda picture: self.texture.steps(picture, amount, continues=continues, comb=comb),
        )

    def given(self, pixels, steps) -> np.ndarray:
        given = np.ascontiguousarray(pixels)
        self.device.write(self._picture, given)
        self.device.submit([steps(self._picture)], [Copy(self._picture, self._memory)])
        with self._memory.read() as written:
            return written[: given.size].reshape(given.shape).copy()

    @property
    def _state(self) -> np.ndarray:
        memory = self.device.readback(self.texture._state.size)
        self.device.submit([], [Copy(self.texture._state, memory)])
        with memory.read() as written:
            return written.copy()

    @property
    def offset(self) -> list[float]:
        whole, part = self._state[:8].view(np.int32), self._state[8:16].view(np.float32)
        return [float(a) + float(b) for a, b in zip(whole, part, strict=True)]

    @property
    def presence(self) -> float:
        return float(self._state[80:84].view(np.float32)[0])


@pytest.fixture
def streams(device, native_kernels):
    """Return a function that begins a stream on the GPU, and the same one on the CPU."""

    def begun(height: int, width: int) -> tuple[Shaders, Native]:
        return Shaders(device, height, width), Native(height, width)

    return begun


def shares(got: np.ndarray, expected: np.ndarray) -> tuple[int, float]:
    apart = np.abs(got.astype(int) - expected)
    return int(apart.max()), float((apart > 0).mean())


@matrix(
    {
        "size": [(180, 320), (181, 323), (360, 640), (90, 37), (9, 7), (1, 1), (600, 16)],
        "comb": range(len(ALL_COMBS)),
    },
    meeting=1,
)
def test_a_picture_gets_the_texture_of_the_cpu(size, comb, streams):
    key, amount = ("starry_night", "great_wave", "scream")[comb % 3], (1.0, 0.25)[comb % 2]
    pixels = (painting if comb == 0 else pale)(key, *size)
    ours, theirs = streams(*size)
    got, expected = (each(pixels, amount, comb=ALL_COMBS[comb]) for each in (ours, theirs))
    most, share = shares(got, expected)
    assert most <= 1
    assert share < 0.02 or size[0] * size[1] < 100
    if size == (180, 320) and comb:
        assert (got != pixels).mean() > 0.2


def test_a_flat_picture_is_given_the_most(streams):
    gray = np.full((*VIEW, 3), 120, np.uint8)
    ours, theirs = streams(*VIEW)
    got = ours(gray)
    assert shares(got, theirs(gray))[0] <= 1
    assert np.abs(got.astype(int) - gray).mean() > 10


@pytest.mark.parametrize(
    "comb", some_daily([None, COMBS[0], COMBS[2]], 0, 1), ids=["plain", "follow", "swirl"]
)
@pytest.mark.parametrize(
    "step",
    some_daily([((0.0, 0.0),), ((2.3, 0.9),), ((-0.4, 0.2),), ((9.0, -4.0),)], 1, 3),
    ids=str,
)
def test_a_stream_has_the_texture_of_the_cpu(step, comb, streams):
    ours, theirs = streams(*VIEW)
    for view in views(step[0], step[1], 9):
        pixels = view // 4 + 90
        got, expected = (each(pixels, continues=True, comb=comb) for each in (ours, theirs))
        most, share = shares(got, expected)
        assert most <= 1
        assert share < 0.01
        assert math.dist(ours.offset, theirs.offset) < 0.01
    true = [-8 * each for each in step]
    assert math.dist(ours.offset, true) < 0.8


@pytest.mark.full
def test_an_animated_scene_has_the_texture_of_the_cpu(streams):
    ours, theirs = streams(360, 640)
    for number in range(6):
        view = np.ascontiguousarray(render(number / 25, 640, 360))
        comb = COMBS[0] if number > 2 else None
        got, expected = (each(view, continues=True, comb=comb) for each in (ours, theirs))
        assert (got != view).mean() > 0.01
        assert shares(got, expected)[0] <= 1


def test_of_an_object_and_the_scene_behind_it_the_pattern_follows_the_scene(streams):
    ours, theirs = streams(*VIEW)
    for number, view in enumerate(views(1.5, 0, 9)):
        view[60:130, 10 + 14 * number : 70 + 14 * number] = 255 - view[60:130, :60]
        got, expected = (each(view, continues=True) for each in (ours, theirs))
        assert shares(got, expected)[0] <= 1
    assert math.dist(ours.offset, (-12, 0)) < 1.0


def test_a_scene_that_goes_far_is_followed_from_newer_references(streams):
    ours, theirs = streams(*VIEW)
    for view in views(30.0, 5.0, 12):
        got, expected = (each(view, continues=True) for each in (ours, theirs))
        assert shares(got, expected)[0] <= 1
    assert math.dist(ours.offset, (-330, -55)) < 1.0


def test_a_scene_that_becomes_another_one_is_followed_from_the_frame_before(streams):
    ours, theirs = streams(*VIEW)
    draw = np.random.default_rng(0)
    scenes = [cv2.resize(draw.uniform(0, 255, (15, 27)), VIEW[::-1]) for _ in range(2)]
    for share in np.linspace(0, 1, 9):
        gray = scenes[0] + (scenes[1] - scenes[0]) * share
        view = np.repeat(gray.astype(np.uint8)[..., None], 3, axis=2)
        got, expected = (each(view, continues=True) for each in (ours, theirs))
        assert shares(got, expected)[0] <= 1
        assert ours.presence == theirs.presence == 1


def test_where_the_motion_is_not_known_the_texture_fades_and_returns(streams):
    ours, theirs = streams(*VIEW)
    rng, gray = np.random.default_rng(0), np.full((*VIEW, 3), 120, np.uint8)
    noise = [rng.integers(0, 255, gray.shape).astype(np.uint8) for _ in range(5)]
    faded = []
    for view in (painting("scream", *VIEW), *noise):
        ours(view, continues=True)
        theirs(view, continues=True)
        faded.append(ours.presence)
        assert ours.presence == theirs.presence
    assert faded == [1, 0.75, 0.5, 0.25, 0, 0]
    assert np.array_equal(ours(gray, continues=True), gray), "it is gone"
    theirs(gray, continues=True)
    for view in views(1, 0, 31):
        got, expected = (each(view, continues=True) for each in (ours, theirs))
        assert shares(got, expected)[0] <= 1
    assert ours.presence == 1


def test_each_direction_in_a_stream_begins_without_the_last_one(streams):
    ours, theirs = streams(*VIEW)
    modes = COMBS[0], COMBS[0], None, COMBS[0], COMBS[5], COMBS[0], COMBS[2], COMBS[6]
    for view, comb in zip(views(2.0, 1.0, len(modes)), modes, strict=True):
        pixels = view // 4 + 90
        got, expected = (each(pixels, continues=True, comb=comb) for each in (ours, theirs))
        assert shares(got, expected)[0] <= 1


def test_a_picture_has_the_same_texture_whatever_came_before(streams):
    ours, _ = streams(*VIEW)
    for view in views(5, 1, 3):
        ours(view, continues=True, comb=COMBS[0])
    pixels = painting("wreck", *VIEW)
    other, _ = streams(*VIEW)
    for comb in (None, COMBS[0]):
        assert np.array_equal(ours(pixels, comb=comb), other(pixels, comb=comb))


def test_a_stream_that_is_forgotten_begins_anew(streams):
    ours, _ = streams(*VIEW)
    seen = list(views(6, 2, 4))
    assert ours.texture.begins
    first = ours(seen[0], continues=True, comb=COMBS[0])
    assert not ours.texture.begins
    for view in seen[1:]:
        ours(view, continues=True, comb=COMBS[0])
    assert math.hypot(*ours.offset) > 10
    ours.texture.forget()
    assert np.array_equal(ours(seen[0], continues=True, comb=COMBS[0]), first)


def test_two_runs_are_bit_equal(streams):
    runs: list[list[object]] = []
    for _ in range(2):
        ours, _ = streams(*VIEW)
        runs.append(
            [ours(view, continues=True, comb=COMBS[0]).tobytes() for view in views(3, -1, 5)]
        )
    assert runs[0] == runs[1]


def test_two_pictures_are_textured_by_turns(device, streams):
    ours, theirs = streams(*VIEW)
    pictures = [ours._picture, *(device.allocate(3 * VIEW[0] * VIEW[1]) for _ in range(5))]
    for number, view in enumerate(views(3, -1, 8)):
        ours._picture = pictures[number % len(pictures)]
        got, expected = (each(view, continues=True) for each in (ours, theirs))
        assert shares(got, expected)[0] <= 1


@pytest.mark.parametrize("large", [(180, 320), (181, 257), (360, 640)], ids=str)
@pytest.mark.parametrize("comb", [None, COMBS[0]], ids=["plain", "follow"])
def test_a_larger_copy_gets_the_same_texture(large, comb, device, streams):
    size = 120, 213
    ours, theirs = streams(*size)
    ours.texture.keep_field()
    theirs.history.keep_field()
    larger = Shaders(device, *large)
    for number in range(2):
        inputs = pale("great_wave", *large) + number, pale("great_wave", *size) + number
        expected = np.empty_like(inputs[0])
        small, wanted = (each(inputs[1], 0.8, continues=True, comb=comb) for each in (ours, theirs))
        theirs.enlarge(inputs[0], expected)
        assert shares(small, wanted)[0] <= 1
        got = larger.given(
            inputs[0], lambda picture: ours.texture.enlarged(picture, (large[1], large[0]))
        )
        most, share = shares(got, expected)
        assert most <= 1
        assert share < 0.01
        assert (got != inputs[0]).mean() > 0.2


def test_a_plan_paints_the_textured_picture(device):
    painter = Painter(device, SMALL)
    size, x = (64, 48), np.full((1, 48, 64, 3), 120, np.uint8)
    texture, ours = WebGpuTexture(device, size), Shaders(device, 48, 64)
    textured = ours(x[0])
    plan = painter.plan(x)
    expected = plan(painter.weights, textured[None])[0]
    for _ in range(3):
        begun = [
            plan.start(
                painter.weights,
                x[0],
                timed=timed,
                before=lambda picture: texture.steps(picture, 1.0, continues=False),
            )
            for timed in (False, True)
        ]
        for started in begun:
            assert np.array_equal(started.result(), expected)
    assert not np.array_equal(plan(painter.weights, x)[0], expected)


def test_copies_of_every_size_have_room(device):
    for size in ((1, 1), (2, 3), (128, 72), (16, 128)):
        wide, high = size
        half, quarter = motion.halved(size), motion.halved(motion.halved(size))
        assert min(*half, *quarter) >= 1
        every = 3 * wide * high + 2 * math.prod(half) + 2 * math.prod(quarter)
        assert motion.copies_floats(size) == every
    assert max(tracked_size(4000, 3000)) <= 128


def test_strokes_before_a_still_camera_stand_still(streams):
    ours, _ = streams(*VIEW)
    for view in views(0, 0, 6):
        ours(view, continues=True, comb=Comb(FOLLOW))
    assert ours.offset == [0, 0]
