"""The steps after the network: smoothing, upsampling, and mixing with the frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.process_mode import ProcessMode
from app.frame import Frame
from tests.app.engine.conftest import shown
from tests.conftest import picture


def test_strength_zero_is_the_source(engine, config, frame):
    engine.configure(replace(config, strength=0.0))
    np.testing.assert_array_equal(engine.process(frame).frame.pixels, frame.pixels)


def test_a_slider_moved_during_the_frame_is_in_the_picture(engine, config, frame):
    moved = replace(config, strength=0.0)
    styled = engine.finish(engine.infer(frame), moved)
    assert styled.config == moved
    np.testing.assert_array_equal(styled.frame.pixels, frame.pixels)


def test_a_style_chosen_during_the_frame_waits_for_the_next(engine, config, frame):
    other = replace(config, kernels="baseline")
    assert engine.finish(engine.infer(frame), other).config == config


def test_smoothing_steadies_a_stream_and_begins_anew_after_a_cut(engine, config):
    rng = np.random.default_rng(5)
    noisy = [
        Frame(np.clip(picture() + rng.normal(0, 6, (48, 64, 3)), 0, 255).astype(np.uint8))
        for _ in range(12)
    ]

    def change(smoothing):
        engine.configure(replace(config, smoothing=smoothing))
        results = [engine.process(frame).frame.pixels.astype(int) for frame in noisy]
        return np.abs(results[-1] - results[-2]).mean()

    assert change(1.0) < 0.3 * change(0.0)
    plain = engine.process(noisy[0]).frame.pixels
    engine.configure(replace(config, smoothing=1.0))
    engine.process(noisy[1])
    assert (engine.process(noisy[0]).frame.pixels != plain).any()
    engine.reset_history()
    np.testing.assert_array_equal(engine.process(noisy[0]).frame.pixels, plain)


def test_a_single_picture_is_never_smoothed(engine, config, frame):
    noise = np.random.default_rng(5).normal(0, 6, frame.pixels.shape)
    before = Frame(np.clip(frame.pixels + noise, 0, 255).astype(np.uint8))  # not a cut
    plain = shown(engine, config, frame).frame.pixels
    engine.configure(replace(config, smoothing=1.0))
    for mode in (ProcessMode.SINGLE, ProcessMode.REFINE):
        engine.process(before, mode)
        np.testing.assert_array_equal(engine.process(frame, mode).frame.pixels, plain)
    engine.process(before, ProcessMode.SEQUENCE)
    assert (engine.process(frame, ProcessMode.SEQUENCE).frame.pixels != plain).any()


def test_sharpening_costs_what_the_timings_call_blend(engine, config):
    styled = shown(engine, config, Frame(picture(320, 240)))
    smooth = shown(engine, replace(config, upsampling="smooth"), Frame(picture(320, 240)))
    assert styled.timings.blend > 0
    assert styled.timings.total >= styled.timings.network + styled.timings.blend
    assert (styled.frame.pixels != smooth.frame.pixels).any()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"smoothing": 0.5},
        {"upsampling": "smooth"},
        {"strength": 0.5},
        {"strength": 0.0},
        {"keep_colors": True},
        {"size": 32, "smoothing": 0.5},
    ],
    ids=str,
)
def test_results_do_not_share_memory(engine, config, frame, changes):
    """A recording and the window keep references to them."""
    engine.configure(replace(config, **changes))
    first = engine.process(frame)
    kept = first.frame.pixels.copy()
    for seed in (5, 6):
        engine.process(Frame(picture(seed=seed), seed))
    np.testing.assert_array_equal(first.frame.pixels, kept)
