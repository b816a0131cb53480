"""Flicker measures known values correctly."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from models.evaluation.flicker import STEPS, pan, panned_flicker, still_flicker
from models.evaluation.image_metrics import to_tensor
from tests.conftest import picture
from tests.models.evaluation.conftest import CPU

pytestmark = pytest.mark.usefixtures("one_thread")


def test_what_passes_frames_on_flickers_as_they_do(photograph: Tensor) -> None:
    assert still_flicker(lambda x: x, photograph, frames=12) == pytest.approx(1)
    assert panned_flicker(lambda x: x, photograph, frames=12) == pytest.approx(1)


def test_what_always_shows_the_same_does_not_flicker(photograph: Tensor) -> None:
    assert still_flicker(lambda x: torch.full_like(x, 77), photograph, frames=12) == 0
    assert panned_flicker(lambda x: torch.full_like(x, 77), photograph, frames=12) == 0


def test_a_filter_that_moves_with_the_scene_flickers_alike_still_and_panned() -> None:
    def blur(x: Tensor) -> Tensor:
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), 3, 1)

    scene = to_tensor(picture(192, 160), CPU)
    still = still_flicker(blur, scene)
    assert 0.2 < still < 0.5, "a mean of nine pixels takes two thirds of the noise away"
    assert panned_flicker(blur, scene) == pytest.approx(still, rel=0.03)


def test_a_grid_that_stays_with_the_sensor_counts_as_flicker_only_when_panned() -> None:
    def grid(x: Tensor) -> Tensor:
        return x + 20 * (torch.arange(x.shape[3]) % 4 == 0)

    scene = to_tensor(picture(192, 160) // 2 + 60, CPU)
    assert still_flicker(grid, scene, frames=12) == pytest.approx(1)
    assert panned_flicker(grid, scene, frames=12) > 2


def test_flicker_does_not_depend_on_how_many_frames_are_styled_at_once(photograph: Tensor) -> None:
    def halved(x: Tensor) -> Tensor:
        return x / 2

    # Either way, noise is drawn batch by batch in the order of the frames.
    for flicker in (still_flicker, panned_flicker):
        one, three = (flicker(halved, photograph, frames=7, batch=n) for n in (7, 3))
        assert one == pytest.approx(three, rel=0.02)


def test_frames_are_what_a_camera_could_have_sent(photograph: Tensor) -> None:
    def watch(x: Tensor) -> Tensor:
        assert torch.equal(x, x.round())
        assert 0 <= float(x.min()) <= float(x.max()) <= 255
        deviations.append(float((x - photograph).std()))
        return x

    deviations: list[float] = []
    still_flicker(watch, photograph, frames=6, sigma=2)
    assert deviations == [pytest.approx(2, rel=0.1)]


def test_a_pan_moves_by_its_steps_and_turns_back_at_the_edge() -> None:
    places = pan(60, 20, 30)
    moves = {(abs(b[0] - a[0]), abs(b[1] - a[1])) for a, b in pairwise(places)}
    assert set(STEPS) <= moves
    assert all(down <= 3 and right <= 3 for down, right in moves)
    assert {0 <= down <= 20 and 0 <= right <= 30 for down, right in places} == {True}
    assert max(down for down, _ in places) > 15


@pytest.mark.parametrize(
    ("size", "options", "says"),
    [
        ((96, 72), {"frames": 1}, "needs at least 2 frames, not 1"),
        ((96, 72), {"sigma": 0.01, "frames": 3}, "rounds to zero"),
        ((96, 20), {}, "at least 24x24, not 96x20"),
    ],
)
def test_flicker_that_cannot_be_told_is_refused(size, options, says) -> None:
    with pytest.raises(ValueError, match=says):
        panned_flicker(lambda x: x, to_tensor(picture(*size), CPU), **options)
