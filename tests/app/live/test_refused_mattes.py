"""A matte that does not fit the frames of a stream is refused, and the stream goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import Engine
from app.live.frame_loop import FrameLoop
from app.live.loop_events import LoopEvents
from app.live.stream_metrics import StreamMetrics
from app.options import EVERYTHING, GREEN, ONLY_PERSON
from tests.app.live.test_fluid import Every, Panned
from tests.helpers.errors import mentions
from utils.images.writing import write_pixels


class Told:
    """The reports of the loop."""

    def __init__(self) -> None:
        self.problems, self.kept, self.results = [], [], Every()
        self.events = LoopEvents(problem=self.problems.append, config_rejected=self.kept.append)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def loop(catalog, native_kernels, told):
    loop = FrameLoop(Engine(catalog), told.results, StreamMetrics(), told.events)  # type: ignore[arg-type]
    loop.open(Panned())
    yield loop
    loop.close()


@pytest.fixture
def upright(tmp_path):
    """Return a photograph that is higher than it is wide."""
    path = tmp_path / "upright.png"
    write_pixels(path, np.zeros((160, 90, 3), np.uint8))
    return path


def play(loop, config, steps=3) -> None:
    loop.wanted = config
    loop.configure(config)
    for _ in range(steps):
        loop.step()


def test_a_scene_of_another_shape_is_told_once_and_the_stream_goes_on(loop, told, config, upright):
    config = replace(config, size=64)
    play(loop, config)
    count = len(told.results.all)
    play(loop, replace(config, matte=str(upright), paint=ONLY_PERSON, rest=GREEN), steps=5)
    assert len(told.problems) == 1
    assert mentions(told.problems[0].summary, upright.name)
    assert "--" not in told.problems[0].advice
    assert len(told.results.all) > count + 2
    assert told.kept == [loop.wanted]
    assert (loop.wanted.matte, loop.wanted.paint) == ("", EVERYTHING)


def test_the_matte_before_stays(loop, told, config, upright, tmp_path):
    fits = tmp_path / "fits.png"
    frame = Panned().read()
    assert frame is not None
    write_pixels(fits, np.zeros_like(frame.pixels))
    good = replace(config, size=64, matte=str(fits), paint=ONLY_PERSON)
    play(loop, good)
    assert not told.problems
    play(loop, replace(good, matte=str(upright)), steps=5)
    assert told.kept == [good]
    assert told.results.all[-1].config == good


def test_a_matte_that_is_used_only_later_is_refused_then(loop, told, config, upright):
    unused = replace(config, size=64, matte=str(upright))
    play(loop, unused)
    assert not told.problems
    play(loop, replace(unused, paint=ONLY_PERSON), steps=5)
    assert [(each.matte, each.paint) for each in told.kept] == [("", EVERYTHING)]
    assert loop.running
