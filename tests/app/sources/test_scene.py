"""The built-in scene is the same each time, in any size."""

from __future__ import annotations

import time

import numpy as np
import pytest

from app.sources import SCENE, open_source
from app.sources.scene import PERIOD_S, Scene, render
from tests.app.sources.conftest import next_frame
from tests.helpers.daily import some_daily

SIZES = (1280, 720), (641, 361), (64, 64), (300, 700)


@pytest.mark.full
def test_the_scene_is_the_same_at_the_same_second_and_repeats() -> None:
    picture = render(3.0, 320, 180)
    assert picture.shape == (180, 320, 3)
    assert picture.dtype == np.uint8
    assert np.array_equal(picture, render(3.0, 320, 180))
    assert np.array_equal(picture, render(3.0 + PERIOD_S, 320, 180))


def test_the_scene_moves_gently_and_without_a_seam() -> None:
    def change(a: float, b: float) -> float:
        one, other = (render(t, 320, 180).astype(float) for t in (a, b))
        return float(np.abs(one - other).mean())

    everywhere = [change(t, t + 1 / 30) for t in (1.0, 8.0, 17.0)]
    assert min(everywhere) > 0.05
    assert change(PERIOD_S - 1 / 60, PERIOD_S + 1 / 60) < 1.5 * max(everywhere)


def test_the_scene_has_detail_at_every_scale() -> None:
    gray = render(3.0, 640, 360).mean(axis=2)
    for size in (1, 4, 16, 64):
        rows, columns = 360 // size, 640 // size
        blocks = gray[: rows * size, : columns * size].reshape(rows, size, columns, size)
        assert np.abs(np.diff(blocks.mean(axis=(1, 3)), axis=1)).mean() > 4


@pytest.mark.parametrize("size", some_daily([((w, h),) for w, h in SIZES], 2))
def test_the_scene_comes_in_any_size(size: tuple[int, int]) -> None:
    for t in (0.0, 9.9, PERIOD_S - 0.001):
        assert render(t, *size).shape == (size[1], size[0], 3)


@pytest.mark.full
def test_the_scene_keeps_time_and_drops_what_is_not_read() -> None:
    source = Scene(320, 180)
    assert (source.info.width, source.info.height, source.info.fps) == (320, 180, 30)
    start = time.perf_counter()
    indexes = [next_frame(source).index for _ in range(10)]
    assert indexes == sorted(set(indexes))
    assert time.perf_counter() - start > 8.5 / 30
    time.sleep(0.2)
    dropped = source.dropped
    assert next_frame(source).index > indexes[-1] + 3
    assert source.dropped > dropped + 2
    source.pause(True)
    start = time.perf_counter()
    assert source.read(0.1) is None
    assert 0.09 < time.perf_counter() - start < 0.2
    dropped = source.dropped
    source.pause(False)
    next_frame(source)
    assert source.dropped <= dropped + 1
    source.close()
    assert source.read(0.01) is None


def test_the_scene_opens_by_its_spec() -> None:
    source = open_source(SCENE)
    frame = next_frame(source)
    assert (frame.width, frame.height) == (1280, 720)
    source.close()
