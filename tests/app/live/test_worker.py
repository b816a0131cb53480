"""The worker hands over the newest result, computed with the newest config."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import Engine
from app.engine.result import EngineConfig, StyledFrame
from app.frame import Frame
from app.live.latest_value import LatestValue
from app.live.stream_metrics import StreamMetrics
from app.live.worker import Worker
from app.sources.pictures import Pictures
from app.styles.catalog import Catalog
from tests.conftest import picture
from utils.images.writing import write_pixels


@pytest.fixture
def latest() -> LatestValue:
    return LatestValue()


@pytest.fixture
def engine(catalog: Catalog, native_kernels) -> Engine:
    return Engine(catalog)


@pytest.fixture
def worker(qtbot, engine: Engine, latest: LatestValue, config: EngineConfig) -> Iterator[Worker]:
    worker = Worker(engine, latest, StreamMetrics())
    worker.loop.wanted = config
    worker.loop.configure(config)
    yield worker
    worker.close()


def test_the_newest_value_wins_and_is_taken_once(latest, engine, config):
    engine.configure(config)
    results = [engine.process(Frame(picture(seed=seed), seed)) for seed in range(3)]
    told = [latest.put(result) for result in results]
    assert told == [True, False, False]  # the reader is notified once
    assert latest.take() is results[-1]
    assert latest.take() is None
    assert latest.put(results[0])


def test_a_slider_moved_during_a_frame_is_in_that_frame(
    worker, engine, latest, config, qtbot, tmp_path, monkeypatch
):
    moved = replace(config, strength=0.0)
    infer = engine.infer

    def infer_while_it_moves(frame, mode):
        inferred = infer(frame, mode)
        worker.loop.wanted = moved
        return inferred

    monkeypatch.setattr(engine, "infer", infer_while_it_moves)
    write_pixels(tmp_path / "a.png", picture())
    with qtbot.waitSignal(worker.ready, timeout=10_000):
        worker.post(worker.open, Pictures([tmp_path / "a.png"]))
    result: StyledFrame | None = latest.take()
    assert result is not None
    assert result.config == moved
    np.testing.assert_array_equal(result.frame.pixels, picture())


def test_a_picture_is_styled_again_to_time_its_layers(worker, latest, qtbot, tmp_path):
    write_pixels(tmp_path / "a.png", picture())
    with qtbot.waitSignal(worker.ready, timeout=10_000):
        worker.post(worker.open, Pictures([tmp_path / "a.png"]))
    first = latest.take()
    assert first is not None
    assert first.timings.layers == ()
    with qtbot.waitSignal(worker.ready, timeout=10_000):
        worker.post(worker.loop.time_layers, True)
    again = latest.take()
    assert again is not None
    assert again.timings.layers


def test_only_the_newest_of_several_configs_takes_effect(worker, engine, config):
    older, newest = replace(config, strength=0.5), replace(config, strength=0.25)
    worker.loop.wanted = newest
    worker.loop.configure(older)
    assert engine.config == config
    worker.loop.configure(newest)
    assert engine.config == newest
