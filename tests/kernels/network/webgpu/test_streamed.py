"""A stream's picture is painted in pieces, between which the GPU does other work."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from kernels.network.webgpu import form as forms
from kernels.network.webgpu.device import Copy, Device
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.mixing import MixedWeights
from kernels.network.webgpu.moving.stream import WebGpuMover
from kernels.network.webgpu.paced import UNDER_WAY
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.readback import Readback
from kernels.network.webgpu.submissions import Part, measured
from kernels.network.webgpu.weights import Weights
from tests.kernels.network.webgpu.test_plan import SMALL, Painter, picture, state_of
from tests.kernels.network.webgpu.test_submissions import Counting

SIZE = (40, 75)
PATIENCE_S = 60.0


class Gated(Counting):
    """A device whose threads of pieces wait for `go` before each submission after the first."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.go, self.waits = threading.Event(), threading.Event()

    def submit(self, *args, **options) -> None:
        if threading.current_thread().name == "pieces" and self.submitted:
            self.waits.set()
            assert self.go.wait(PATIENCE_S)
        super().submit(*args, **options)


@pytest.fixture(scope="module")
def painter(device) -> Painter:
    return Painter(device, SMALL)


def slow_plan(painter, device, monkeypatch, ms: float = 40.0, size=SIZE) -> WebGpuPlan:
    """Return a plan that was told that each layer takes some milliseconds."""
    told = {Part(name): ms for name in painter.network.layers}
    monkeypatch.setattr(forms, "measured", lambda *args: measured(*args) and told)
    plan = WebGpuPlan(device, painter.network, size)
    plan(painter.weights, picture(*size))
    if isinstance(device, Counting):
        device.submitted.clear()
    return plan


def test_pictures_in_pieces_are_those_of_one_submission(device, painter, monkeypatch):
    counting, x = Counting(device), picture(*SIZE, count=4)
    plan = slow_plan(painter, counting, monkeypatch)
    expected = plan(painter.weights, x)
    counting.submitted.clear()
    for first in (0, 2):
        begun = [plan.start(painter.weights, x[first + n], pieces_from=40.0) for n in range(2)]
        for number, started in reversed([*enumerate(begun, first)]):
            assert np.array_equal(started.result(), expected[number])
    assert len(counting.submitted) > 4 * len(painter.network.layers)


def test_a_fast_picture_is_not_divided(device, painter, monkeypatch):
    counting, x = Counting(device), picture(*SIZE)
    plan = slow_plan(painter, counting, monkeypatch, ms=1.0)
    started = plan.start(painter.weights, x[0], pieces_from=40.0)
    assert started.spent is None
    assert len(counting.submitted) <= 2


def test_the_first_picture_of_a_size_is_measured(device, painter):
    plan = WebGpuPlan(device, painter.network, SIZE)
    first = plan.start(painter.weights, picture(*SIZE)[0], pieces_from=1e-6)
    assert first.spent is None
    second = plan.start(painter.weights, picture(*SIZE)[0], pieces_from=1e-6)
    assert np.array_equal(first.result(), second.result())
    assert second.spent is not None
    assert second.spent > 0


def test_a_painting_moves_between_the_pieces_of_the_next_one(
    device, painter, monkeypatch, native_smoothing
):
    gated, x = Gated(device), picture(*SIZE, count=2)
    plan = slow_plan(painter, gated, monkeypatch)
    expected = plan(painter.weights, x[:1])[0]
    gated.submitted.clear()
    mover = WebGpuMover(device, SIZE[1], SIZE[0])
    mover.painted(255 - x[0], x[0])
    started = plan.start(painter.weights, x[0], pieces_from=40.0)
    assert gated.waits.wait(PATIENCE_S)
    assert (mover.shown(x[0]) == 255 - x[0]).all()
    assert not started.ready()
    gated.go.set()
    assert np.array_equal(started.result(), expected)
    assert started.ready()


def test_two_pieces_are_under_way_at_most(device, painter, monkeypatch):
    counting, x = Counting(device), picture(*SIZE)
    plan = slow_plan(painter, counting, monkeypatch)
    waits, go = threading.Event(), threading.Event()
    wait_for = Readback.wait

    def held(self, *args):
        if threading.current_thread().name == "pieces":
            waits.set()
            assert go.wait(PATIENCE_S)
        wait_for(self, *args)

    monkeypatch.setattr(Readback, "wait", held)
    started = plan.start(painter.weights, x[0], pieces_from=40.0)
    assert waits.wait(PATIENCE_S)
    assert len(counting.submitted) == UNDER_WAY
    go.set()
    started.wait()


def test_a_picture_at_once_waits_for_one_in_pieces(device, painter, monkeypatch):
    gated, x = Gated(device), picture(*SIZE, count=2)
    plan = slow_plan(painter, gated, monkeypatch)
    expected = plan(painter.weights, x)
    gated.submitted.clear()
    for paint in (
        lambda: plan.start(painter.weights, x[1]).result(),
        lambda: plan.paint(painter.weights, x[1]).result(),
    ):
        gated.go.clear()
        gated.waits.clear()
        started = plan.start(painter.weights, x[0], pieces_from=40.0)
        assert gated.waits.wait(PATIENCE_S)
        threading.Timer(0.05, gated.go.set).start()
        assert np.array_equal(paint(), expected[1])
        assert np.array_equal(started.result(), expected[0])


def test_a_picture_in_pieces_keeps_its_mix(device, painter, monkeypatch):
    styles = painter.weights, Weights(device, painter.network, state_of(SMALL, seed=2))
    mixed, x = MixedWeights(device, styles), picture(*SIZE)
    gated = Gated(device)
    plan = slow_plan(painter, gated, monkeypatch)
    mixed.mix((0.3, 0.7))
    expected = plan(mixed.weights, x)[0]
    gated.submitted.clear()
    started = plan.start(mixed.weights, x[0], pieces_from=40.0)
    assert gated.waits.wait(PATIENCE_S)
    threading.Timer(0.05, gated.go.set).start()
    mixed.mix((0.9, 0.1))
    assert np.array_equal(started.result(), expected)
    assert (plan(mixed.weights, x)[0] != expected).any()


def test_groups_of_layers_are_measured_over_their_pieces(device, painter, monkeypatch):
    if not device.adapter.timed:
        pytest.skip("this GPU does not measure times")
    plan, x = slow_plan(painter, device, monkeypatch), picture(*SIZE)
    for _ in range(2):
        started = plan.start(painter.weights, x[0], timed=True, pieces_from=40.0)
        assert started.milliseconds is not None
        assert [*started.milliseconds] == ["encoder", "residual blocks", "decoder"]
        assert all(each > 0 for each in started.milliseconds.values())
        whole = plan.start(painter.weights, x[0], timed=True)
        assert whole.milliseconds is not None
        assert [*whole.milliseconds] == ["encoder", "residual blocks", "decoder"]
        assert np.array_equal(whole.result(), started.result())


def test_a_picture_in_pieces_that_nobody_reads_frees_its_place(device, painter, monkeypatch):
    plan, x = slow_plan(painter, device, monkeypatch), picture(*SIZE, count=2)
    expected = plan(painter.weights, x)
    for number in range(4):
        plan.start(painter.weights, x[number % 2], pieces_from=40.0)
    assert np.array_equal(plan(painter.weights, x), expected)


def test_a_device_that_is_lost_between_pieces_is_an_error_in_words(adapter, monkeypatch, caplog):
    lost = Device(adapter)
    painter = Painter(lost, SMALL)
    gated = Gated(lost)
    plan = slow_plan(painter, gated, monkeypatch)
    started = plan.start(painter.weights, picture(*SIZE)[0], pieces_from=40.0)
    assert gated.waits.wait(PATIENCE_S)
    lost.close()
    gated.go.set()
    with pytest.raises(WebGpuError):
        started.wait()
    caplog.clear()  # wgpu logs it


def test_a_move_tells_how_long_it_waited_for_earlier_work(device, monkeypatch):
    mover, x = WebGpuMover(device, SIZE[1], SIZE[0]), picture(*SIZE)[0]
    mover.painted(255 - x, x)
    marks, read = [], Readback.read

    def watched(self, *args):
        marks.append(self.size)
        return read(self, *args)

    monkeypatch.setattr(Readback, "read", watched)
    memory = device.readback(4)
    device.submit([], [Copy(mover._state, memory)])
    mover.shown(x)
    assert marks == [4, x.size], "the wait ends before the move does"
    assert mover.queued_ms > 0
