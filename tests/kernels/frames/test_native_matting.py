"""Native mattes equal the reference, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from app.engine.matting.reference import ReferenceMatting, matte_at, mixed
from kernels.frames.native_matting import NativeMatting, native_mixed
from tests.conftest import picture

SIZES = ((90, 160), (37, 61), (128, 131), (5, 7))


def scene_of(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    noise = rng.uniform(2.5, 8, (height, width)).astype(np.float32)
    return picture(width, height).astype(np.float32), noise


def frames_of(height: int, width: int) -> list[np.ndarray]:
    """Return frames of a scene with something bright, something dark and a shadow in it."""
    rng = np.random.default_rng(1)
    colors, _ = scene_of(height, width)
    frames = []
    for n in range(4):
        frame = colors * 1.07 + rng.standard_normal(colors.shape) * 2
        frame[height // 3 :, width // 4 + n : width // 2 + n] = (250, 40, 90)
        frame[height // 2 :, width // 2 + n : width // 2 + 9] *= 0.7
        frames.append(frame.clip(0, 255).astype(np.uint8))
    return frames


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_mattes_are_those_of_the_reference(native_smoothing, height, width):
    native, reference = NativeMatting(height, width), ReferenceMatting(height, width)
    light = np.array((1.06, 1.07, 1.08), np.float32)
    for each in (native, reference):
        each.take_scene(*scene_of(height, width))
    for n, frame in enumerate(frames_of(height, width)):
        made = [each.rough(frame, light, None, first=n == 0) for each in (native, reference)]
        np.testing.assert_allclose(made[0], made[1], atol=2e-3)
        found = [matte_at(frame, *each.guided(made[1])) for each in (native, reference)]
        np.testing.assert_allclose(found[0], found[1], atol=5e-3)
        assert 0.05 < made[0].mean() < 0.95


def test_mattes_from_elsewhere_are_steadied_in_the_same_way(native_smoothing):
    height, width = SIZES[0]
    native, reference = NativeMatting(height, width), ReferenceMatting(height, width)
    rng = np.random.default_rng(2)
    for n, frame in enumerate(frames_of(height, width)):
        given = rng.uniform(0, 1, (height, width)).astype(np.float32)
        made, wanted = (
            each.rough(frame, None, given, first=n == 0) for each in (native, reference)
        )
        np.testing.assert_allclose(made, wanted, atol=1e-5)
        assert np.array_equal(made, given) == (n == 0)


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 127), (3, 126), (6, 253), (4, 257)], ids=str)
def test_windows_beyond_the_edges_mirror_frames_of_any_size(native_smoothing, size):
    native, reference = NativeMatting(*size), ReferenceMatting(*size)
    rng = np.random.default_rng(5)
    frame = rng.integers(0, 256, (*size, 3), np.uint8)
    given = rng.uniform(0, 1, size).astype(np.float32)
    made, light = [], np.ones(3, np.float32)
    for each in (native, reference):
        each.take_scene(*scene_of(*size))
        rough = each.rough(frame, light, None, first=True)
        made.append((rough, matte_at(frame, *each.guided(given))))
    np.testing.assert_allclose(made[0][0], made[1][0], atol=2e-3)
    np.testing.assert_allclose(made[0][1], made[1][1], atol=5e-3)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("factor", [1, 3])
def test_pictures_are_mixed_as_in_the_reference(native_smoothing, swapped, factor):
    height, width = SIZES[1]
    frame = picture(width * factor, height * factor)
    painted = frame[::-1].copy()
    rng = np.random.default_rng(3)
    slope = rng.uniform(-0.01, 0.01, (height, width)).astype(np.float32)
    base = rng.uniform(-0.5, 1.5, (height, width)).astype(np.float32)
    made = native_mixed(painted, frame, slope, base, swapped=swapped)
    wanted = mixed(painted, frame, slope, base, swapped=swapped)
    assert np.abs(made.astype(int) - wanted).max() <= 1
    assert (made != frame).any()
    assert (made != painted).any()


def test_the_number_of_threads_changes_no_bit(native_smoothing, threads):
    height, width = SIZES[2]
    light, found = np.ones(3, np.float32), []
    for count in (1, 2, 3):
        threads(count)
        matting = NativeMatting(height, width)
        matting.take_scene(*scene_of(height, width))
        rough = matting.rough(frames_of(height, width)[0], light, None, first=True)
        found.append(np.stack([rough, *matting.guided(rough)]))
    assert all(np.array_equal(each, found[0]) for each in found)


def test_frames_of_another_size_are_refused(native_smoothing):
    frame = np.zeros((8, 9, 3), np.uint8)
    for kind in (NativeMatting, ReferenceMatting):
        with pytest.raises(ValueError, match="8, 9"):
            kind(8, 8).rough(frame, np.ones(3, np.float32), None, first=True)
    with pytest.raises(ValueError, match="8, 9"):
        native_mixed(np.zeros((8, 8, 3), np.uint8), frame, *np.zeros((2, 8, 8), np.float32),
                     swapped=False)  # fmt: skip
