"""Shaders move the paintings of GPUs that WebGPU reaches; for a software GPU, the CPU does."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import inference, movers
from app.engine.engine.movers import HostMover, ShaderMover
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from kernels.network.webgpu import device as devices
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.moving.stream import WebGpuMover
from kernels.network.webgpu.plan import WebGpuPlan
from models.webgpu_devices import adapter_of, is_webgpu, key_of, opened, try_again
from tests.conftest import picture
from tests.helpers.software_gpu import software_gpu

LIVE = ProcessMode.LIVE


@pytest.fixture
def gpu():
    yield software_gpu()
    try_again()


@pytest.fixture
def on_gpu(config, gpu):
    """A config on the GPU; the lite network's shaders compile faster."""
    return replace(config, network="lite", device=key_of(gpu), size=96)


@pytest.fixture
def shaders(monkeypatch):
    """Move paintings by shaders on the software GPU too."""
    monkeypatch.setattr(movers, "by_shaders", is_webgpu)


@pytest.fixture
def still() -> Frame:
    return Frame(picture(96, 64), 1)


def paint(engine, frame):
    """Paint a frame of a stream on the GPU, once its shaders are compiled."""
    end = time.monotonic() + 60
    while (pending := engine.begin(frame, LIVE)) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    while not engine.ready(pending):
        time.sleep(0.001)
    return engine.complete(pending)


def mover_of(engine):
    return engine._finishing._moving._mover


def test_a_painting_moves_by_shaders_as_by_the_cpu(
    engine, on_gpu, still, monkeypatch, native_smoothing
):
    engine.configure(replace(on_gpu, strength=0.8))
    newer, moved = Frame(np.roll(still.pixels, 2, axis=1), 2), []
    for by_shaders in (lambda device: False, is_webgpu):
        monkeypatch.setattr(movers, "by_shaders", by_shaders)
        engine.reset_history()
        paint(engine, still)
        moved.append(engine.move(newer))
    cpu, gpu = moved
    assert isinstance(mover_of(engine), ShaderMover)
    apart = np.abs(gpu.frame.pixels.astype(int) - cpu.frame.pixels)
    assert (apart > 1).mean() < 0.005
    assert (gpu.moved, gpu.source, gpu.timings.network) == (True, newer, 0)
    assert gpu.timings.motion > 0
    assert gpu.timings.queue > 0
    assert cpu.timings.queue == 0


def test_on_a_software_gpu_the_cpu_moves_the_painting(
    engine, on_gpu, gpu, still, monkeypatch, native_smoothing
):
    engine.configure(on_gpu)
    paint(engine, still)
    assert engine.move(still).moved
    assert type(mover_of(engine)) is HostMover
    assert not movers.by_shaders(gpu)
    hardware = replace(adapter_of(gpu), software=False)
    monkeypatch.setattr(movers, "adapter_of", lambda _: hardware)
    assert movers.by_shaders(gpu)


@pytest.mark.parametrize("method", ["shown", "painted", "__init__"])
def test_a_gpu_that_fails_to_move_is_given_up_with_its_reason(
    engine, on_gpu, still, shaders, monkeypatch, method
):
    said = []

    def fail(self, *args):
        raise WebGpuError("refused a command")

    engine.report_gpu_failures(said.append)
    engine.configure(on_gpu)
    if method != "__init__":
        paint(engine, still)
    monkeypatch.setattr(WebGpuMover, method, fail)
    if method == "shown":
        assert engine.move(still) is None
    else:
        assert not paint(engine, still).moved, "the painting itself is shown"
        assert engine.move(still) is None
    (sentence,) = said
    assert "refused a command" in sentence
    assert engine.process(still, LIVE).running.device == "CPU"
    assert engine.move(still).moved, "the CPU goes on"
    assert len(said) == 1


def test_a_gpu_that_is_lost_and_opened_again_moves_again(
    engine, on_gpu, gpu, still, shaders, caplog
):
    engine.report_gpu_failures(lambda said: None)
    engine.configure(on_gpu)
    paint(engine, still)
    assert engine.move(still).moved
    opened(gpu).close()
    assert engine.move(still) is None
    engine.try_gpu_again()
    assert engine.move(still) is None
    paint(engine, still)
    assert engine.move(still).moved
    assert on_gpu.device in engine.move(still).running.device
    caplog.clear()  # wgpu logs the loss


def test_shaders_that_move_compile_with_those_that_paint(
    engine, on_gpu, still, shaders, monkeypatch
):
    compiled: list[str] = []
    before: list[str] = []
    pipeline, begin = devices.Device.pipeline, ShaderMover.__init__

    def watched(self, shader):
        compiled.append(shader.code)
        return pipeline(self, shader)

    def begun(self, *args):
        before.extend(compiled)
        begin(self, *args)

    monkeypatch.setattr(devices.Device, "pipeline", watched)
    monkeypatch.setattr(ShaderMover, "__init__", begun)
    engine.configure(on_gpu)
    paint(engine, still)
    assert any("fn same_scene" in code for code in before)


@pytest.mark.parametrize("fluid", [True, False])
def test_slow_paintings_of_fluid_streams_alone_are_in_pieces(
    engine, on_gpu, still, shaders, monkeypatch, fluid
):
    monkeypatch.setattr(inference, "MOVED_MS", 0.001)
    in_pieces, start = [], WebGpuPlan._start_pieces

    def watched(self, *args, **options):
        in_pieces.append(args)
        return start(self, *args, **options)

    engine.configure(replace(on_gpu, fluid=fluid))
    expected = paint(engine, still)
    monkeypatch.setattr(WebGpuPlan, "_start_pieces", watched)
    styled = paint(engine, still)
    assert bool(in_pieces) is fluid
    assert np.array_equal(styled.frame.pixels, expected.frame.pixels)
    assert styled.timings.network > 0
    assert engine.process(still, ProcessMode.SEQUENCE).frame.pixels.shape == (64, 96, 3)
    assert len(in_pieces) <= 1


@pytest.mark.parametrize("timed", [True, False])
def test_a_painting_in_pieces_has_the_time_of_its_pieces(
    engine, on_gpu, gpu, still, shaders, monkeypatch, timed
):
    device = opened(gpu)
    monkeypatch.setattr(device, "adapter", replace(device.adapter, timed=timed))
    monkeypatch.setattr(inference, "MOVED_MS", 0.001)
    engine.configure(on_gpu)
    paint(engine, still)
    timings = paint(engine, still).timings
    assert timings.network > 1, "ms, though it was complete before the engine waited"
    assert bool(timings.groups) is timed
