"""The engine moves the last painting of a stream, and none of another style, size or stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import Engine, EngineError, movers
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from kernels.frames.moving import FADE
from tests.app.engine.paintings_there import inferred_there
from tests.conftest import picture
from tests.helpers.emulated_streams import emulate
from tests.kernels.frames.emulated import EmulatedFrameKernels, compiled

LIVE = ProcessMode.LIVE


@pytest.fixture
def still() -> Frame:
    return Frame(picture(96, 64), 1)


@pytest.fixture
def styles(catalog):
    first, second, *_ = (each.key for each in catalog.styles)
    return first, second


def test_a_scene_that_stands_still_shows_the_painting(engine, config, still, native_smoothing):
    engine.configure(replace(config, size=96))
    painted = engine.process(still, LIVE)
    newer = Frame(still.pixels, 2)
    moved = engine.move(newer)
    assert moved.moved
    assert moved.source is newer
    assert moved.frame.index == 2
    assert (moved.frame.pixels == painted.frame.pixels).all()


def test_a_painting_of_another_style_does_not_show_through(
    engine, config, styles, still, native_smoothing
):
    painted, moved = {}, still.pixels
    for key in styles:
        engine.configure(replace(config, size=96, style=key))
        painted[key] = engine.process(still, LIVE).frame.pixels
        moved = engine.move(still).frame.pixels
    before, newest = (painted[key] for key in styles)
    assert (moved == newest).all()
    assert (moved != before).any()


def test_paintings_of_one_style_fade_into_one_another(engine, config, still, native_smoothing):
    engine.configure(replace(config, size=96))
    engine.process(still, LIVE)
    engine.move(still)
    darker = still.pixels * np.linspace(1.0, 0.9, 96)[:, None]  # to the right
    other = Frame(darker.astype(np.uint8), 2)
    painted = engine.process(other, LIVE).frame.pixels.astype(int)
    steps = [np.abs(engine.move(other).frame.pixels - painted).mean() for _ in range(FADE)]
    assert steps[0] > steps[1] > steps[2] == 0


@pytest.mark.parametrize("wanted", [{"style": 1}, {"network": "lite"}], ids=str)
def test_no_painting_of_an_earlier_choice_is_moved(
    engine, config, styles, still, wanted, native_smoothing
):
    engine.configure(config)
    engine.process(still, LIVE)
    wanted = {"style": styles[1]} if "style" in wanted else wanted
    engine.configure(replace(config, **wanted))
    assert engine.move(still) is None


def test_frames_of_another_size_are_not_painted_over(engine, still, native_smoothing):
    engine.process(still, LIVE)
    assert engine.move(Frame(picture(64, 96), 2)) is None


@pytest.mark.parametrize("off", [{"fluid": False}, {"compare": True}], ids=str)
def test_without_fluid_streams_and_in_comparisons_nothing_moves(
    engine, config, still, off, native_smoothing
):
    engine.configure(replace(config, **off))
    engine.process(still, LIVE)
    assert engine.move(still) is None


@pytest.mark.parametrize("mode", [ProcessMode.SINGLE, ProcessMode.SEQUENCE], ids=str)
def test_pictures_and_exported_films_do_not_move(engine, still, mode, native_smoothing):
    engine.process(still, mode)
    assert engine.move(still) is None


def test_another_source_begins_without_a_painting(engine, still, native_smoothing):
    engine.process(still, LIVE)
    engine.reset_history()
    assert engine.move(still) is None


def test_before_a_config_there_is_nothing_to_move(catalog, still):
    with pytest.raises(EngineError):
        Engine(catalog).move(still)


def test_without_a_compiler_the_reference_moves_the_painting(engine, still, monkeypatch):
    monkeypatch.setattr(movers, "is_ready", lambda: False)
    painted = engine.process(still, LIVE)
    moved = engine.move(still)
    assert np.abs(moved.frame.pixels.astype(int) - painted.frame.pixels).max() <= 1


@pytest.fixture
def on_gpu(monkeypatch, host):
    """Return a function that gives a painting to an engine as from a GPU, emulated on the CPU."""
    emulate(monkeypatch)
    kernels = EmulatedFrameKernels(host)

    def painted(engine, frame):
        return engine.finish(inferred_there(engine, frame, kernels))

    return painted


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("frames"))


@pytest.mark.parametrize("size", [96, 48], ids=str)
def test_a_painting_on_a_gpu_moves_as_one_on_the_cpu(
    size, engine, config, still, on_gpu, native_smoothing
):
    engine.configure(replace(config, size=size, strength=0.8))
    newer = Frame(np.roll(still.pixels, 2, axis=1), 2)
    engine.process(still, LIVE)
    expected = engine.move(newer)
    assert on_gpu(engine, still).moved is False
    moved = engine.move(newer, screen=(48, 32))
    assert np.abs(moved.frame.pixels.astype(int) - expected.frame.pixels).max() <= 1
    assert moved.frame.screen.shape == (32, 48, 4)
    assert (moved.moved, moved.source, moved.timings.network) == (True, newer, 0)
    assert moved.timings.motion > 0


def test_a_painting_on_a_gpu_does_not_show_through_that_of_another_style(
    engine, config, styles, still, on_gpu, native_smoothing
):
    for key in styles:
        engine.configure(replace(config, size=96, style=key))
        newest = on_gpu(engine, still).frame.pixels
        moved = engine.move(still).frame.pixels
        assert np.abs(moved.astype(int) - newest).max() <= 1


def test_paintings_in_memory_and_on_a_gpu_are_not_mixed(
    engine, config, still, on_gpu, native_smoothing
):
    engine.configure(replace(config, size=96))
    for painted in (lambda: engine.process(still, LIVE), lambda: on_gpu(engine, still)) * 2:
        newest = painted().frame.pixels
        moved = engine.move(still).frame.pixels
        assert np.abs(moved.astype(int) - newest).max() <= 1
