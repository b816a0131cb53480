"""A picture on a slow GPU is painted in pieces, between which it can be given up."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from kernels.network.webgpu import form as forms
from kernels.network.webgpu import native, paced, readback
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.paced import estimated
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.submissions import Part, measured
from tests.kernels.network.webgpu.test_plan import SMALL, Painter, picture
from tests.kernels.network.webgpu.test_submissions import Counting
from utils.stop_flag import StopFlag, Stopped, stopped_by

SIZE = (40, 75)  # several rows of workgroups


class GivenUp(Exception):
    pass


@pytest.fixture(scope="module")
def painter(device) -> Painter:
    return Painter(device, SMALL)


@pytest.fixture(params=[np.uint8, np.float32], ids=["bytes", "floats"])
def x(request) -> np.ndarray:
    return picture(*SIZE, dtype=request.param)


def slow_plan(painter, counting, monkeypatch, x, ms: float = 40.0) -> WebGpuPlan:
    """Return a plan that was told that each layer takes some milliseconds."""
    told = {Part(name): ms for name in painter.network.layers}
    monkeypatch.setattr(forms, "measured", lambda *args: measured(*args) and told)
    plan = WebGpuPlan(counting, painter.network, SIZE)
    plan(painter.weights, x[:1])
    counting.submitted.clear()
    return plan


def test_a_slow_gpus_picture_is_that_of_one_submission(device, painter, x, monkeypatch):
    counting, shares = Counting(device), []
    plan = slow_plan(painter, counting, monkeypatch, x)
    whole = painter.plan(x)(painter.weights, x)[0]
    started = plan.paint(painter.weights, x[0], lambda layer, share: shares.append(share))
    assert np.array_equal(started.result(), whole)
    expected = painter.plan(x).start(painter.weights, x[0])
    assert started.limits == expected.limits
    assert len(counting.submitted) == len(shares) > 2 * len(painter.network.layers)
    assert shares == sorted(set(shares))
    assert shares[-1] == pytest.approx(1)


def test_layers_are_divided_into_as_many_pieces_as_their_time_asks(device, painter, monkeypatch):
    x, parts = picture(*SIZE), []
    for ms in (1.0, 14.0, 30.0, 60.0):
        counting = Counting(device)
        plan = slow_plan(painter, counting, monkeypatch, x, ms)
        plan.paint(painter.weights, x[0])
        parts.append(len(counting.submitted))
    layers = len(painter.network.layers)
    fast, one_each, *divided = parts
    assert fast == 1 + (not device.adapter.timed), "a fast picture is not divided"
    assert one_each == layers
    assert layers < divided[0] < divided[1]
    steps = plan._form(True).steps.grouped(painter.weights, str)
    assert divided[1] > sum(map(len, steps.values())), "steps are divided too"


def test_a_fast_gpu_measures_its_own_time(device, painter):
    if not device.adapter.timed:
        pytest.skip("this GPU does not measure times")
    x = picture(21, 18)
    plan = WebGpuPlan(device, painter.network, (21, 18))
    plan(painter.weights, x)
    form = plan._form(True)
    form._times.update(dict.fromkeys(form._times, 0.1))
    assert plan.paint(painter.weights, x[0]).milliseconds


@pytest.mark.parametrize("after", [1, 3])
def test_a_picture_that_is_given_up_is_not_submitted_whole(device, painter, x, monkeypatch, after):
    counting = Counting(device)
    plan = slow_plan(painter, counting, monkeypatch, x)
    whole = plan.paint(painter.weights, x[0]).result()
    counting.submitted.clear()
    plan.paint(painter.weights, x[0])
    every = len(counting.submitted)
    seen = []

    def passed(layer: str, share: float) -> None:
        seen.append(share)
        if len(seen) == after:
            raise GivenUp

    for _ in range(3):
        counting.submitted.clear()
        seen.clear()
        with pytest.raises(GivenUp):
            plan.paint(painter.weights, x[0], passed)
        assert len(counting.submitted) == after + 1, "one more is under way"
        assert len(counting.submitted) < every
    assert np.array_equal(plan.paint(painter.weights, x[0]).result(), whole)
    assert np.array_equal(plan(painter.weights, x)[0], whole)


def test_a_flag_stops_a_picture_before_its_next_piece(device, painter, x, monkeypatch):
    counting, flag = Counting(device), StopFlag()
    plan = slow_plan(painter, counting, monkeypatch, x)
    whole = plan.paint(painter.weights, x[0]).result()
    counting.submitted.clear()
    with stopped_by(flag), pytest.raises(Stopped):
        plan.paint(painter.weights, x[0], lambda layer, share: flag.set())
    assert 0 < len(counting.submitted) <= 3
    counting.submitted.clear()
    with stopped_by(flag), pytest.raises(Stopped):
        plan.paint(painter.weights, x[0])
    assert counting.submitted == []
    assert np.array_equal(plan.paint(painter.weights, x[0]).result(), whole), "no flag is in force"


def test_a_sizes_first_picture_is_divided_by_an_estimate(device, painter, x, monkeypatch):
    monkeypatch.setattr(paced, "SLOW", 1e3)  # products in a ms: each layer takes long
    counting, shares, counts = Counting(device), [], []
    plan = WebGpuPlan(counting, painter.network, SIZE)
    form = plan._form(x.dtype == np.uint8)
    assert sum(estimated(painter.network, SIZE).values()) > 1000, "ms"
    expected = painter.plan(x)(painter.weights, x)[0]
    for pace in (1.0, 2.0, 1e-9):
        form._pace, form._paced = pace, None
        counting.submitted.clear()
        shares.clear()
        started = plan.paint(painter.weights, x[0], lambda layer, share: shares.append(share))
        assert np.array_equal(started.result(), expected)
        counts.append(len(shares))
    steps = plan._form(True).steps.grouped(painter.weights, str)
    assert counts[0] == counts[1] > sum(map(len, steps.values()))
    assert counts[2] == 0, "a fast picture is not divided"


def test_the_second_picture_is_divided_by_the_time_of_the_first(device, painter):
    x = picture(*SIZE)
    plan = WebGpuPlan(device, painter.network, SIZE)
    form, slow = plan._form(True), sum(estimated(painter.network, SIZE).values())
    form.paced(painter.network, SIZE)
    form.record(3 * slow)
    assert form.paced(painter.network, SIZE).expected == pytest.approx(3 * slow)
    form.record(9 * slow)
    assert form.paced(painter.network, SIZE).expected == pytest.approx(3 * slow), "once"
    plan(painter.weights, x)
    measured = sum(form._times.values())
    assert form.paced(painter.network, SIZE).expected == pytest.approx(measured)


def test_a_sizes_first_picture_can_be_given_up(device, painter, x, monkeypatch):
    monkeypatch.setattr(paced, "SLOW", 1e3)
    counting, flag = Counting(device), StopFlag()
    plan = WebGpuPlan(counting, painter.network, SIZE)
    with stopped_by(flag), pytest.raises(Stopped):
        plan.paint(painter.weights, x[0], lambda layer, share: flag.set())
    assert len(counting.submitted) <= 3
    expected = painter.plan(x)(painter.weights, x)[0]
    assert np.array_equal(plan.paint(painter.weights, x[0]).result(), expected)


def test_a_flag_ends_a_wait_for_the_gpu(device, monkeypatch):
    memory, flag = device.readback(4), StopFlag()
    monkeypatch.setattr(native, "poll", lambda _: flag.set())  # the GPU does not answer yet
    monkeypatch.setattr(readback, "PATIENCE", 2.0)
    with pytest.raises(Stopped):
        memory.wait(flag.check)


def test_another_thread_stops_a_picture_under_way(device, painter, monkeypatch):
    x, flag, ended = picture(*SIZE), StopFlag(), threading.Event()
    plan = slow_plan(painter, Counting(device), monkeypatch, x)
    begun = threading.Event()

    def paint() -> None:
        with stopped_by(flag):
            while True:
                try:
                    plan.paint(painter.weights, x[0], lambda layer, share: begun.set())
                except Stopped:
                    ended.set()
                    return

    thread = threading.Thread(target=paint)
    thread.start()
    assert begun.wait(60)
    flag.set()
    thread.join(60)
    assert ended.is_set()
    expected = painter(x)
    assert np.array_equal(plan(painter.weights, x), expected)


def test_a_picture_in_flight_outlives_one_that_is_given_up(device, painter, monkeypatch):
    x = picture(*SIZE, count=3)
    plan = slow_plan(painter, Counting(device), monkeypatch, x)
    expected = plan(painter.weights, x)
    held = plan.start(painter.weights, x[0])

    def give_up(layer: str, share: float) -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        plan.paint(painter.weights, x[1], give_up)
    painted = plan.paint(painter.weights, x[2])
    assert np.array_equal(held.result(), expected[0])
    assert np.array_equal(painted.result(), expected[2])


def test_a_wait_for_shaders_that_compile_can_be_given_up(adapter, painter, monkeypatch):
    compiler, flag, go_on = Device(adapter), StopFlag(), threading.Event()
    compile_one = Device._compiled

    def slow(self, shader, code):
        flag.set()
        go_on.wait(1)
        return compile_one(self, shader, code)

    monkeypatch.setattr(Device, "_compiled", slow)
    other, x = Painter(compiler, SMALL), picture(*SIZE)
    plan = other.plan(x)
    with stopped_by(flag), pytest.raises(Stopped):
        plan.paint(other.weights, x[0])
    go_on.set()
    assert np.array_equal(plan.paint(other.weights, x[0]).result(), painter(x)[0])
    compiler.close()
