"""Two pictures may be in flight: each is right, in any order, from any thread."""

from __future__ import annotations

import gc
import queue
import threading

import numpy as np
import pytest

from kernels.network.webgpu import native, readback
from kernels.network.webgpu.device import Copy, Device
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.weights import Weights
from tests.kernels.network.webgpu.test_plan import SMALL, Painter, picture, state_of


@pytest.fixture(scope="module")
def painter(device) -> Painter:
    return Painter(device, SMALL)


@pytest.mark.parametrize("size", [(21, 18), (24, 16), (19, 17)])
def test_pictures_in_flight_are_right_in_any_order(painter, size):
    x = picture(*size, count=4)
    plan = painter.plan(x)
    exact = painter.exact(x).clip(0, 255)
    for first, second in ((0, 1), (2, 3)):
        begun = [plan.start(painter.weights, x[number]) for number in (first, second)]
        for number, started in reversed([*zip((first, second), begun, strict=True)]):
            started.wait()
            assert np.abs(started.result() - exact[number]).max() < 0.505
            assert started.result() is started.result(), "waiting again changes nothing"


def test_the_result_is_a_copy_of_its_own(painter):
    x = picture(24, 16, count=3)
    plan = painter.plan(x)
    first = plan.start(painter.weights, x[0]).result()
    kept = first.copy()
    plan(painter.weights, x[1:])
    assert np.array_equal(first, kept)
    assert first.flags.c_contiguous
    assert first.flags.owndata
    turned = plan.start(painter.weights, x[0][::-1])
    assert turned.result().flags.c_contiguous, "a picture upside down is no other case"


def test_a_third_picture_in_flight_is_refused(painter):
    x = picture(21, 18, count=3)
    plan = painter.plan(x)
    held = [plan.start(painter.weights, each) for each in x[:2]]
    with pytest.raises(ValueError, match="2"):
        plan.start(painter.weights, x[2])
    before = held.pop(0).result()
    again = plan.start(painter.weights, x[0])
    assert np.array_equal(again.result(), before)


def test_pictures_that_nobody_reads_free_their_places(painter):
    x = picture(21, 18, count=2)
    plan = painter.plan(x)
    expected = plan(painter.weights, x)
    for number in range(5):
        plan.start(painter.weights, x[number % 2])
        gc.collect()
    assert np.array_equal(plan(painter.weights, x), expected)


def test_a_batch_leaves_a_started_picture_alone(painter):
    x = picture(21, 18, count=4)
    plan = painter.plan(x)
    expected = plan(painter.weights, x)
    held = plan.start(painter.weights, x[3])
    assert np.array_equal(plan(painter.weights, x[:3]), expected[:3])
    assert np.array_equal(held.result(), expected[3])


def test_one_thread_starts_and_another_one_waits(painter):
    x = picture(29, 24, count=12)
    plan = painter.plan(x)
    expected = plan(painter.weights, x)
    ready: queue.Queue = queue.Queue()
    room = threading.Semaphore(2)

    def start() -> None:
        for each in x:
            room.acquire()
            ready.put(plan.start(painter.weights, each))

    thread = threading.Thread(target=start)
    thread.start()
    found = []
    for _ in x:
        found.append(ready.get().result())
        room.release()
    thread.join()
    assert np.array_equal(np.stack(found), expected)


@pytest.mark.full
def test_two_plans_in_two_threads_keep_two_pictures_in_flight(painter):
    wrong = []

    def paint(x: np.ndarray, expected: np.ndarray) -> None:
        plan = painter.plan(x)
        for number in range(8):
            begun = [plan.start(painter.weights, each, timed=number % 2 > 0) for each in x]
            wrong.extend(
                n for n, started in enumerate(begun) if (started.result() != expected[n]).any()
            )

    batches = [picture(36, 24, count=2), picture(29, 40, count=2)]
    threads = [threading.Thread(target=paint, args=(x, painter(x))) for x in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("size", [(16, 16), (19, 17), (70, 66)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_limits_are_those_before_rounding(painter, size, dtype):
    x = picture(*size, dtype=dtype)
    exact = painter.exact(x)
    least, most = painter.plan(x).start(painter.weights, x[0]).limits
    assert abs(least - exact.min()) < 0.005
    assert abs(most - exact.max()) < 0.005
    assert least < 0
    assert most > 255


def test_limits_of_one_color_are_that_color(device):
    painter = Painter(device, SMALL)
    painter.state["deconv3.conv2d.weight"][:] = 0
    painter.state["deconv3.conv2d.bias"][:] = 37.25
    flat = Weights(device, painter.network, painter.state)
    x = picture(21, 18)
    assert painter.plan(x).start(flat, x[0]).limits == (37.25, 37.25)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_limits_are_nan_if_one_value_is_not_finite(device, value):
    state = state_of(SMALL)
    state["deconv3.conv2d.bias"][1] = value
    painter = Painter(device, SMALL)
    broken, x = Weights(device, painter.network, state), picture(33, 40)
    plan = painter.plan(x)
    assert np.isnan(plan.start(broken, x[0]).limits).all()
    assert np.isfinite(plan.start(painter.weights, x[0]).limits).all(), "the next picture is whole"
    numbers = x.astype(np.float32)
    assert np.isnan(plan.start(broken, numbers[0]).limits).all()


@pytest.mark.parametrize("longest", [1e9, 0.0])
def test_times_come_with_the_picture_if_asked(device, painter, longest):
    if not device.adapter.timed:
        pytest.skip("this GPU does not measure times")
    x = picture(21, 18)
    plan = WebGpuPlan(device, painter.network, (21, 18), longest=longest)
    plan(painter.weights, x)
    plain, timed = (plan.start(painter.weights, x[0], timed=flag) for flag in (False, True))
    assert plain.milliseconds is None
    assert timed.milliseconds is not None
    assert [*timed.milliseconds] == ["encoder", "residual blocks", "decoder"]
    assert all(each > 0 for each in timed.milliseconds.values())
    assert np.array_equal(plain.result(), timed.result())


def test_ticks_of_a_gpus_clock_become_milliseconds(device, monkeypatch):
    if not device.adapter.timed:
        pytest.skip("this GPU does not measure times")
    monkeypatch.setattr(native, "tick", lambda _: 40.0)  # ns
    clock = np.array([7, 1007, 2000, 252_000])
    assert device.stamps(2).milliseconds(clock.view(np.uint8)) == pytest.approx([0.04, 10.0])


def test_a_gpu_that_does_not_answer_is_an_error_in_words(device, monkeypatch):
    memory, buffer = device.readback(64), device.allocate(64)
    device.submit([], [Copy(buffer, memory)])
    monkeypatch.setattr(readback, "PATIENCE", 0.0)
    monkeypatch.setattr(native, "poll", lambda _: None)
    with pytest.raises(WebGpuError, match="answer"):
        memory.wait()
    monkeypatch.undo()
    with memory.read() as written:
        assert not written.any(), "the next wait succeeds"


def test_a_device_that_is_lost_in_flight_is_an_error_in_words(adapter, caplog):
    lost = Device(adapter)
    painter, x = Painter(lost, SMALL), picture(16, 16)
    plan = painter.plan(x)
    plan(painter.weights, x)
    started = plan.start(painter.weights, x[0])
    lost.close()
    with pytest.raises(WebGpuError):
        started.result()
    caplog.clear()  # wgpu logs it
