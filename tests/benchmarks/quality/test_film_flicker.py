"""The flicker of a film is the change not explained by motion, where both frames show the same."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.quality.film_flicker import FilmFlickerMeter
from utils.opencv import cv2

HEIGHT, WIDTH = 96, 128


def structure(seed: int, height: int = 200, width: int = 260) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 1, (height, width, 3)).astype(np.float32)
    blurred = sum(cv2.GaussianBlur(noise, (0, 0), sigma) * sigma for sigma in (2, 6))
    return np.clip(128 + 120 * blurred, 0, 255).astype(np.uint8)


WIDE, THING = structure(1), structure(2, 30, 30)


def frame(number: int, *, thing: bool = False) -> np.ndarray:
    """Return a frame of a scene moving by 2 and 1 pixels, optionally behind a thing moving by 5."""
    down, right = 20 + number, 30 + 2 * number
    view = WIDE[down : down + HEIGHT, right : right + WIDTH].copy()
    if thing:
        view[30:60, 5 + 5 * number : 35 + 5 * number] = THING
    return view


def flickering(pixels: np.ndarray, number: int, by: int) -> np.ndarray:
    """Return the picture, lighter by some levels in every second frame."""
    return np.clip(pixels.astype(int) // 2 + by * (number % 2), 0, 255).astype(np.uint8)


def test_a_style_that_moves_with_its_source_does_not_flicker():
    meter = FilmFlickerMeter()
    for number in range(6):
        source = frame(number)
        meter.add(source, [255 - source, flickering(source, number, 8)])
    still, lighter = meter.flicker.outputs
    assert still < 1
    assert lighter == pytest.approx(8, abs=0.7)
    assert meter.flicker.compared == 5
    assert meter.flicker.cuts == 0


def test_without_the_motion_compensated_the_same_film_would_change():
    assert np.abs(frame(1).astype(int) - frame(0)).mean() > 8


def test_what_a_thing_covers_and_leaves_is_not_compared():
    meter, plain = FilmFlickerMeter(), FilmFlickerMeter()
    for number in range(8):
        meter.add(frame(number, thing=True), [255 - frame(number, thing=True)])
        plain.add(frame(number), [255 - frame(number)])
    assert meter.flicker.outputs[0] < 2
    assert meter.flicker.seen < plain.flicker.seen - 0.03


def test_a_cut_is_counted_and_not_compared():
    meter = FilmFlickerMeter()
    for number in range(6):
        source = frame(number) if number < 3 else structure(7)[:HEIGHT, :WIDTH]
        meter.add(source, [255 - source])
    assert meter.flicker.cuts == 1
    assert meter.flicker.compared == 4
    assert meter.flicker.outputs[0] < 1


def test_ratios_are_over_the_change_of_the_source():
    meter, rng = FilmFlickerMeter(), np.random.default_rng(0)
    for number in range(4):
        clean = frame(number)
        noisy = np.clip(clean + rng.normal(0, 2, clean.shape), 0, 255).astype(np.uint8)
        meter.add(noisy, [noisy])
    assert meter.flicker.ratios == (1.0,)
    assert meter.flicker.source == pytest.approx(2 * 2 / np.sqrt(np.pi), rel=0.3)


def test_two_measurements_are_equal():
    found = []
    for _ in range(2):
        meter = FilmFlickerMeter()
        for number in range(4):
            source = frame(number, thing=True)
            meter.add(source, [flickering(source, number, 5)])
        found.append(meter.flicker)
    assert found[0] == found[1]


def test_films_of_different_sizes_are_refused():
    meter = FilmFlickerMeter()
    with pytest.raises(ValueError, match="one size"):
        meter.add(frame(0), [frame(0)[1:]])
    meter = FilmFlickerMeter()
    meter.add(frame(0), [frame(0)])
    with pytest.raises(ValueError, match="one size"):
        meter.add(frame(1), [frame(1), frame(1)])


@pytest.mark.parametrize(
    ("frames", "says"),
    [
        ([frame(0)], "no two frames of the same scene"),
        ([frame(0)] * 3, "all frames of the film are equal"),
    ],
    ids=["one frame", "equal frames"],
)
def test_a_film_without_a_change_has_no_flicker(frames, says):
    meter = FilmFlickerMeter()
    for each in frames:
        meter.add(each, [each])
    with pytest.raises(ValueError, match=says):
        _ = meter.flicker
