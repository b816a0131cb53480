"""A change after the network alone needs no new run of it, and gives the same picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.matting.brushing import brush, mask_of
from app.engine.matting.masks import hold_mask
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from tests.conftest import picture

STILL = ProcessMode.SINGLE


@pytest.fixture
def frame() -> Frame:
    return Frame(picture(160, 96))


@pytest.fixture
def mask(tmp_path) -> str:
    made = mask_of(160, 96, full=False)
    brush(made, [(0.2, 0.5), (0.8, 0.5)], 0.1, erases=False)
    return str(hold_mask(made, tmp_path))


@pytest.fixture
def painted(engine, config, frame, modules):
    """Return a painted frame's config, after the network has run once."""
    engine.configure(config)
    engine.finish(engine.infer(frame, STILL))
    modules.clear()
    return config


CHANGES = [
    {"strength": 0.4},
    {"keep_colors": True},
    {"upsampling": "smooth"},
    {"paint": "person"},
    {"paint": "background", "feather": 0.5},
    {"paint": "person", "rest": "green"},
    {"paint": "person", "swap_matte": True},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_change_after_the_network_needs_no_run_of_it(
    engine, painted, frame, mask, modules, change
):
    chosen = replace(painted, **change, matte=mask)
    again = engine.finish_again(frame, chosen)
    assert modules == []
    assert again.config == chosen
    assert again.timings.network == 0
    assert again.timings.blend > 0
    whole = engine.process(frame, STILL)
    assert len(modules) == 1
    assert np.array_equal(again.frame.pixels, whole.frame.pixels)
    assert (again.size, str(again.running)) == (whole.size, str(whole.running))


def test_a_picture_of_16_bits_stays_one(engine, config, frame, modules):
    deep = np.random.default_rng(1).integers(0, 65536, (96, 160, 3), np.uint16)
    frame = replace(frame, deep=deep)
    engine.configure(config)
    engine.finish(engine.infer(frame, STILL))
    again = engine.finish_again(frame, replace(config, strength=0.5))
    whole = engine.process(frame, STILL)
    assert np.array_equal(again.frame.deep, whole.frame.deep)
    assert np.array_equal(again.frame.pixels, whole.frame.pixels)


def test_the_config_in_force_acts_where_a_newer_one_needs_the_network(engine, painted, frame):
    engine.configure(replace(painted, strength=0.4))
    assert engine.finish_again(frame).config.strength == 0.4
    made = engine.finish_again(frame, replace(painted, size=96))
    assert made.config == replace(painted, strength=0.4)


@pytest.mark.parametrize(
    "act",
    [
        lambda engine, config: engine.configure(replace(config, size=96)),
        lambda engine, config: engine.evict(config.style),
        lambda engine, config: engine.time_layers(True),
        lambda engine, config: engine.compile_kernels(False),
        lambda engine, config: engine.try_gpu_again(),
        lambda engine, config: engine.reset_history(),
        lambda engine, config: engine.begin(Frame(picture(160, 96))),
    ],
    ids=["another size", "evicted", "timed", "compiled", "tried again", "reset", "begun"],
)
def test_whatever_the_network_depends_on_makes_it_run_again(engine, painted, frame, act):
    assert engine.finish_again(frame) is not None
    act(engine, painted)
    assert engine.finish_again(frame) is None


def test_another_frame_runs_through_the_network(engine, painted, frame):
    assert engine.finish_again(Frame(frame.pixels.copy())) is None
    assert engine.finish_again(replace(frame, captured_at=1.0)).source.captured_at == 1.0


def test_a_comparison_runs_its_networks_each_time(engine, config, frame):
    engine.configure(replace(config, compare=True))
    engine.finish(engine.infer(frame, STILL))
    assert engine.finish_again(frame) is None


def test_an_output_under_way_leaves_the_one_before(engine, config, frame):
    engine.configure(config)
    engine.finish(engine.infer(frame, STILL))
    made = []
    engine.between_layers = lambda share: made.append(
        engine.finish_again(frame, replace(config, strength=0.0))
    )
    engine.infer(frame, STILL)
    assert len(made) > 5
    assert (made[-1].frame.pixels == frame.pixels).all()


def test_a_paused_stream_is_not_smoothed_with_itself(engine, config, frame):
    smoothed = replace(config, smoothing=0.8)
    engine.configure(smoothed)
    rng, still = np.random.default_rng(5), frame.pixels.astype(int)
    noisy = [np.clip(still + rng.normal(0, 4, still.shape), 0, 255) for _ in range(3)]
    *before, last = [Frame(pixels.astype(np.uint8)) for pixels in noisy]
    for each in before:
        engine.finish(engine.infer(each))
    first = engine.finish(engine.infer(last)).frame.pixels
    again = engine.finish_again(last, replace(smoothed, keep_colors=True))
    assert not np.array_equal(again.frame.pixels, first)
    assert np.array_equal(engine.finish_again(last, smoothed).frame.pixels, first)
    assert engine.finish_again(last, replace(smoothed, smoothing=0.2)) is None


def test_a_renamed_style_has_its_new_title(engine, painted, frame, monkeypatch):
    titled = engine._style_weights._chosen[0]
    monkeypatch.setattr(engine._catalog, "get", lambda key: replace(titled, title="Another title"))
    engine.configure(painted)
    assert engine.finish_again(frame).running.style == "Another title"


def test_times_of_the_network_are_recorded_once(engine, config, frame, monkeypatch):
    recorded = []
    monkeypatch.setattr(engine._adaptation, "record", lambda *_, **times: recorded.append(times))
    engine.configure(config)
    engine.finish(engine.infer(frame, STILL))
    engine.finish_again(frame, replace(config, strength=0.5))
    assert len(recorded) == 1
