"""Frames of one size run through the network as a batch, with the results of single frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import EngineError
from app.engine.network_pool import Network
from app.engine.process_mode import ProcessMode
from app.engine.result import Timings
from app.frame import Frame
from app.sources.scene import render
from models.precision import Precision
from models.transformer_net import VARIANTS
from tests.helpers.daily import some_daily
from tests.helpers.precisions import offer_bf16


def frames(count: int, width: int = 96, height: int = 64) -> list[Frame]:
    return [Frame(render(number / 25, width, height), number) for number in range(count)]


@pytest.fixture
def batches(monkeypatch):
    """Return the batch size of each call of a network."""
    ran: list[int] = []
    render = Network._render_layers

    def watched(self, pictures, *how, **named):
        ran.append(len(pictures))
        return render(self, pictures, *how, **named)

    monkeypatch.setattr(Network, "_render_layers", watched)
    return ran


@pytest.mark.parametrize(
    "chosen",
    some_daily(
        [
            {},
            {"size": 48},
            {"strength": 0.4, "keep_colors": True, "size": 48, "upsampling": "guided"},
            {"smoothing": 0.8},
        ],
        2,
    ),
    ids=["plain", "smaller", "mixed", "smoothed"],
)
@pytest.mark.parametrize("kernels", VARIANTS)
def test_a_batch_is_what_its_frames_are_one_after_another(engine, config, batches, kernels, chosen):
    engine.configure(replace(config, kernels=kernels, **{"size": 96, **chosen}))
    alone = [engine.process(frame, ProcessMode.SEQUENCE) for frame in frames(4)]
    engine.reset_history()
    batches.clear()
    together = engine.process_batch(frames(4), ProcessMode.SEQUENCE)
    assert batches == [4]
    assert [styled.batch for styled in alone] == [1] * 4
    assert [styled.batch for styled in together] == [4] * 4
    assert [styled.frame.index for styled in together] == [0, 1, 2, 3]
    for one, other in zip(alone, together, strict=True):
        assert np.abs(one.frame.pixels.astype(int) - other.frame.pixels).max() <= 1
        assert one.size == other.size
    assert (together[0].frame.pixels != together[3].frame.pixels).any()


@pytest.mark.full
def test_frames_of_several_sizes_are_no_batch(engine, config):
    engine.configure(config)
    with pytest.raises(ValueError, match="one size"):
        engine.process_batch([*frames(1), *frames(1, 64, 48)])


def test_what_is_compared_goes_one_by_one(engine, config, batches):
    engine.configure(replace(config, compare=True))
    styled = engine.process_batch(frames(2))
    assert [each.batch for each in styled] == [1, 1]
    assert all(each.comparison is not None for each in styled)
    assert set(batches) == {1}


def test_a_frame_has_its_share_of_the_time_of_its_batch(engine, config):
    engine.configure(replace(config, size=96))
    timings = [styled.timings for styled in engine.process_batch(frames(3))]
    assert {each.network for each in timings} == {timings[0].network}
    groups = sum(ms for _, ms in timings[0].groups)
    assert groups <= timings[0].network * (1 + 1e-9), "up to the rounding of the sum"
    whole = Timings(upload=3.0, network=6.0, groups=(("encoder", 6.0),))
    assert whole.share(3) == Timings(upload=1.0, network=2.0, groups=(("encoder", 2.0),))


def test_from_a_broken_frame_on_a_batch_is_computed_again_in_a_safer_precision(
    engine, config, notices, monkeypatch
):
    offer_bf16(monkeypatch)
    engine.configure(replace(config, precision=Precision.bf16, size=64))
    render_batch = Network.render_batch

    def broken(self, pictures):
        first, second, third = render_batch(self, pictures)
        return [first, replace(second, broken=True), third]

    monkeypatch.setattr(Network, "render_batch", broken)
    styled = engine.process_batch(frames(3))
    precisions = [each.running.precision for each in styled]
    assert precisions == [Precision.bf16, Precision.fp32, Precision.fp32]
    assert [each.batch for each in styled] == [3, 1, 1]
    assert len(notices) == 1


def test_want_of_memory_for_a_batch_is_one_sentence(engine, config, monkeypatch):
    def render_batch(self, pictures):
        raise MemoryError

    engine.configure(replace(config, size=64))
    monkeypatch.setattr(Network, "render_batch", render_batch)
    with pytest.raises(EngineError, match=r"memory .*96x64"):
        engine.process_batch(frames(2))
    assert len(engine.process_batch(frames(1))) == 1
