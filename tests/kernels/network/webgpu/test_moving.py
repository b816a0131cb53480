"""Shaders move paintings as the CPU's library does, within 1 of 255 nearly everywhere."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from app.sources.scene import render
from kernels.frames.moving import FADE
from kernels.frames.native_moving import NativeMover
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.moving.stream import WebGpuMover, _levels
from tests.kernels.frames.test_frames import moving_stream, smooth, stream
from tests.kernels.frames.test_native_moving import EVERY

# Compilers of WGSL may fuse products and sums, and the CPU weights pixels at the borders of cells
# in FP32. A gray cell between two levels is then rounded the other way, and so is a motion, which
# moves its surroundings by 1/32 of a cell.
MEAN, OFF_BY_MORE = 0.15, 0.015  # levels, and the share of numbers more than 1 away
STREAMS = [
    *((stream, size) for size in ((16, 16), (7, 9), (3, 2), (2, 3), (1, 1), (1, 40))),
    *((moving_stream, size) for size in ((90, 161), (33, 50))),
    *(
        pytest.param(moving_stream, size, marks=pytest.mark.full)
        for size in ((120, 160), (48, 300), (256, 200), (61, 107))
    ),
]


@pytest.fixture
def movers(device, native_smoothing):
    """Return a function that begins a stream on the GPU, and the same one on the CPU."""

    def begun(height: int, width: int) -> tuple[WebGpuMover, NativeMover]:
        return WebGpuMover(device, height, width), NativeMover(height, width)

    return begun


def assert_alike(got: np.ndarray, expected: np.ndarray) -> None:
    apart = np.abs(got.astype(int) - expected)
    assert apart.mean() < MEAN
    assert (apart > 1).mean() < OFF_BY_MORE


def part(picture: np.ndarray, right: int, down: int, size=(90, 160)) -> np.ndarray:
    return np.ascontiguousarray(picture[down : down + size[0], right : right + size[1]])


@pytest.mark.parametrize(("make", "size"), STREAMS)
def test_paintings_move_as_on_the_cpu(make, size, movers):
    ours, theirs = movers(*size)
    moved, newest = 0, np.zeros(0)
    for number, (source, painting) in enumerate(make(size)):
        if number % EVERY == 0:
            newest = painting
            for each in (ours, theirs):
                each.painted(painting, source)
        got, expected = (each.shown(source) for each in (ours, theirs))
        assert_alike(got, expected)
        moved += int((got != newest).any())
    assert moved > 3


@pytest.mark.full
def test_an_animated_scene_moves_as_on_the_cpu(movers):
    ours, theirs = movers(180, 320)
    for number in range(12):
        source = np.ascontiguousarray(render(number / 12, 320, 180))
        if number % EVERY == 0:
            for each in (ours, theirs):
                each.painted(255 - source, source)
        assert_alike(ours.shown(source), theirs.shown(source))


@pytest.mark.parametrize("size", [(90, 160), (61, 107), (5, 4)], ids=str)
def test_a_scene_that_stands_still_shows_the_painting_itself(size, movers):
    ours, _ = movers(*size)
    source = smooth(*size)
    painting = np.ascontiguousarray(source[::-1])
    ours.painted(painting, source)
    for _ in range(FADE + 1):
        assert (ours.shown(source) == painting).all()


def test_a_painting_follows_a_scene_that_moves(movers):
    ours, _ = movers(90, 160)
    wide = smooth(140, 220)
    ours.painted(255 - part(wide, 20, 20), part(wide, 20, 20))
    inner = np.s_[12:-12, 12:-12]
    there = ours.shown(part(wide, 23, 22))[inner].astype(int)
    apart = [
        np.abs(there - (255 - part(wide, right, down))[inner]).mean()
        for right, down in ((23, 22), (20, 20))
    ]
    assert 5 * apart[0] < apart[1]


def test_a_cut_leaves_the_painting_as_it_is(movers):
    ours, _ = movers(48, 64)
    before, after = smooth(48, 64, seed=0), smooth(48, 64, seed=1)
    ours.painted(before[::-1], before)
    assert (ours.shown(after) == before[::-1]).all()


def test_a_new_painting_fades_in_over_the_moved_one_before(movers):
    ours, theirs = movers(90, 160)
    wide = smooth(140, 220)
    views = [part(wide, 20 + 2 * step, 20 + step) for step in range(5)]
    paintings = 255 - views[0], (255 - views[1]) // 2
    for painting, view in zip(paintings, views[:2], strict=True):
        for each in (ours, theirs):
            each.painted(painting, view)
    shown = []
    for view in views[2:]:
        got, expected = (each.shown(view) for each in (ours, theirs))
        assert_alike(got, expected)
        shown.append(float(got.mean()))
    assert len(shown) == FADE
    assert all(before > after for before, after in pairwise(shown))
    alone, _ = movers(90, 160)
    alone.painted(paintings[1], views[1])
    assert (ours.shown(views[4]) == alone.shown(views[4])).all(), "the earlier one is gone"


def test_a_third_painting_takes_the_place_of_the_first(movers):
    ours, theirs = movers(48, 64)
    sources = [smooth(60, 90)[step : step + 48, step : step + 64] for step in range(4)]
    for number, source in enumerate(sources):
        for each in (ours, theirs):
            each.painted(255 - source // (1 + number % 2), source)
        assert_alike(*(each.shown(source) for each in (ours, theirs)))


def test_two_runs_move_to_the_same_bits(movers):
    runs: list[list[bytes]] = [[], []]
    for run in runs:
        ours, _ = movers(61, 107)
        for number, (source, painting) in enumerate(moving_stream((61, 107), 8)):
            if number % EVERY == 0:
                ours.painted(painting, source)
            run.append(ours.shown(source).tobytes())
    assert runs[0] == runs[1]


def test_shaders_index_nothing_beyond_their_buffers(adapter, device):
    checked = Device(adapter, trusted=False)
    for size in ((33, 50), (1, 1)):
        both = [WebGpuMover(each, *size) for each in (device, checked)]
        for source, painting in moving_stream(size, 3):
            for each in both:
                each.painted(painting, source)
            first, second = (each.shown(source) for each in both)
            assert (first == second).all()
    checked.close()


def test_pixels_may_change_once_they_are_taken(movers):
    ours, _ = movers(48, 64)
    source = smooth(48, 64)
    painting = 255 - source
    expected, given = painting.copy(), source.copy()
    ours.painted(painting, given)
    painting[:] = given[:] = 0
    assert (ours.shown(source) == expected).all()


def test_without_a_painting_there_is_nothing_to_show(movers):
    with pytest.raises(ValueError, match="no painting"):
        movers(8, 12)[0].shown(np.zeros((8, 12, 3), np.uint8))


def test_paintings_and_frames_of_another_size_are_refused(movers):
    ours, _ = movers(8, 12)
    right, wrong = np.zeros((8, 12, 3), np.uint8), np.zeros((12, 8, 3), np.uint8)
    for pictures in ((right, wrong), (wrong, right)):
        with pytest.raises(ValueError, match="a stream of"):
            ours.painted(*pictures)
    ours.painted(right, right)
    with pytest.raises(ValueError, match="a stream of"):
        ours.shown(wrong)


def test_pictures_and_motions_of_all_sizes_lie_side_by_side():
    levels = _levels(45, 80)
    assert [level.size for level in levels] == [(80, 45), (40, 23), (20, 12)]
    for larger, smaller in pairwise(levels):
        assert larger.picture(3) == smaller.picture(0)
        assert larger.motion(4) == smaller.motion(0)
