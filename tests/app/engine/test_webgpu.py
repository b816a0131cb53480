"""A GPU that WebGPU reaches paints what the CPU paints, and the CPU goes on where it fails."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from app.engine import resolution
from app.engine.engine import Engine, EngineError
from app.engine.engine.precision_check import check_precision
from app.engine.network_pool import NetworkPool
from app.engine.painting_devices import painting_device, painting_devices, pytorch_key
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from app.parameters import AUTO
from kernels.network.webgpu import device as devices
from kernels.network.webgpu import form as forms
from kernels.network.webgpu import plan as plans
from kernels.network.webgpu.library import WebGpuError
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.precision import Precision
from models.webgpu_devices import key_of, opened, try_again
from tests.conftest import picture
from tests.helpers.daily import matrix
from tests.helpers.software_gpu import software_gpu
from utils.stop_flag import StopFlag, Stopped, stopped_by

Family = type(FAMILIES[FEED_FORWARD])
SEQUENCE, LIVE = ProcessMode.SEQUENCE, ProcessMode.LIVE


@pytest.fixture
def gpu():
    yield key_of(software_gpu())
    try_again()


@pytest.fixture
def config(config):
    """The config of other tests with the lite network, whose shaders compile faster."""
    return replace(config, network="lite")


@pytest.fixture
def on_gpu(config, gpu):
    """The config of other tests, on the GPU."""
    return replace(config, device=gpu)


def pixels_of(engine, config, frame):
    engine.configure(config)
    return engine.process(frame, SEQUENCE).frame.pixels.astype(int)


def levels_apart(engine, config, other, frame):
    return np.abs(pixels_of(engine, config, frame) - pixels_of(engine, other, frame)).max()


@matrix(
    {"shape": [(16, 16), (49, 67), (48, 64)], "network": ["lite", "full"]},
    meeting=1,
    later=[(48, 64), (49, 67), "full"],
)
def test_a_gpu_paints_what_the_cpu_paints(engine, config, on_gpu, shape, network):
    config, on_gpu = (replace(each, network=network) for each in (config, on_gpu))
    frame = Frame(picture(shape[1], shape[0]))
    assert levels_apart(engine, config, on_gpu, frame) <= 1
    styled = engine.process(frame, SEQUENCE)
    assert styled.running.device.endswith(f"({on_gpu.device})")
    assert not styled.running.limitations


def test_fp16_is_offered_where_shaders_have_it(engine, config, on_gpu, frame):
    half = replace(on_gpu, precision=Precision.fp16)
    assert levels_apart(engine, config, half, frame) <= 2
    assert engine.process(frame, SEQUENCE).running.precision is Precision.fp16


def test_other_precisions_are_refused_with_the_reason(config, gpu):
    device, families = painting_device(gpu), tuple(FAMILIES.values())[:1]
    for precision in (Precision.tf32, Precision.bf16, Precision.amp, Precision.int8):
        with pytest.raises(EngineError, match=precision.title):
            check_precision(replace(config, precision=precision), families, device)


def test_mixes_run_on_the_gpu(engine, config, on_gpu, frame):
    mix = (("candy", 0.6), ("mosaic", 0.4))
    assert levels_apart(engine, config.mixed(mix), on_gpu.mixed(mix), frame) <= 1


@pytest.mark.full
def test_kept_strokes_run_at_two_sizes_on_the_gpu(engine, config, on_gpu, monkeypatch):
    monkeypatch.setattr(resolution, "STROKE_SIZE", 32)
    frame = Frame(picture(64, 48))
    both = (replace(each, keep_strokes=True) for each in (config, on_gpu))
    one, other = both
    assert levels_apart(engine, one, other, frame) <= 1
    pending = engine.begin(frame, SEQUENCE)
    assert len(pending.submitted.pictures) == 2
    overlapped = engine.complete(pending).frame.pixels
    assert np.array_equal(overlapped, engine.process(frame, SEQUENCE).frame.pixels)


@pytest.mark.full
def test_deep_pictures_keep_16_bits(engine, config, on_gpu):
    deep = np.random.default_rng(1).integers(0, 65536, (48, 64, 3), np.uint16)
    frame = replace(Frame(picture(64, 48)), deep=deep)
    found = []
    for each in (config, on_gpu):
        engine.configure(each)
        found.append(engine.process(frame, SEQUENCE).frame.deep.astype(int))
    assert np.abs(found[0] - found[1]).max() <= 257


class GivenUp(Exception):
    pass


@matrix({"deep": [False, True], "flag": [False, True]}, meeting=1)
def test_a_still_on_the_gpu_is_given_up_between_pieces(engine, on_gpu, monkeypatch, deep, flag):
    for module in (forms, plans):
        monkeypatch.setattr(module, "MOST", 0.01)  # ms, as a slow GPU has it
    rng, stop = np.random.default_rng(1), StopFlag()
    frame = Frame(picture(64, 48))
    if deep:
        frame = replace(frame, deep=rng.integers(0, 65536, (48, 64, 3), np.uint16))
    engine.configure(on_gpu)
    expected = engine.process(frame, ProcessMode.REFINE).frame
    shares = []

    def between(share):
        shares.append(share)
        if not flag:
            raise GivenUp
        stop.set()

    engine.between_layers = between
    with stopped_by(stop), pytest.raises(Stopped if flag else GivenUp):
        engine.process(frame, ProcessMode.REFINE)
    assert 0 < len(shares) < 4
    engine.between_layers = shares.append
    shares.clear()
    again = engine.process(frame, ProcessMode.REFINE)
    assert on_gpu.device in again.running.device
    assert np.array_equal(again.frame.pixels, expected.pixels)
    known = [share for share in shares if share is not None]
    assert known == sorted(known)
    assert len(known) > 10
    assert known[-1] == pytest.approx(1)


def test_frames_overlap_and_arrive_in_order(engine, on_gpu):
    frames = [Frame(picture(64, 48), index=n) for n in range(3)]
    engine.configure(on_gpu)
    alone = [engine.process(frame, SEQUENCE).frame.pixels for frame in frames]
    first = engine.begin(frames[0], SEQUENCE)
    second = engine.begin(frames[1], SEQUENCE)
    assert first is not None
    assert second is not None
    styled = [engine.complete(first)]
    third = engine.begin(frames[2], SEQUENCE)
    styled += [engine.complete(second), engine.complete(third)]
    for expected, actual, frame in zip(alone, styled, frames, strict=True):
        assert np.array_equal(actual.frame.pixels, expected)
        assert actual.frame.index == frame.index
        assert [name for name, _ in actual.timings.groups] == [
            "encoder", "residual blocks", "decoder",
        ]  # fmt: skip


@pytest.mark.full
def test_a_batch_is_painted_picture_by_picture(engine, on_gpu):
    frames = [Frame(picture(64, 48), index=n) for n in range(4)]
    engine.configure(on_gpu)
    styled = engine.process_batch(frames, SEQUENCE)
    assert [each.frame.index for each in styled] == [0, 1, 2, 3]
    assert all(on_gpu.device in each.running.device for each in styled)


def test_a_comparison_has_the_baseline_on_the_cpu(engine, on_gpu, frame):
    engine.configure(replace(on_gpu, compare=True))
    comparison = engine.process(frame, SEQUENCE).comparison
    assert comparison.agrees
    assert comparison.baseline_title == "Baseline, CPU"
    assert comparison.psnr > 0
    assert (
        np.abs(comparison.baseline.pixels.astype(int) - comparison.fused.pixels.astype(int)).max()
        <= 1
    )


@pytest.mark.full
def test_a_comparison_in_fp16_has_a_baseline_in_fp32(engine, on_gpu, frame, monkeypatch):
    asked = []
    get = NetworkPool.get

    def watched(self, kernels, precision, device, active, **how):
        asked.append((kernels, precision, device.type))
        return get(self, kernels, precision, device, active, **how)

    monkeypatch.setattr(NetworkPool, "get", watched)
    engine.configure(replace(on_gpu, compare=True, precision=Precision.fp16))
    assert engine.process(frame, SEQUENCE).comparison.agrees
    assert set(asked) == {
        ("baseline", Precision.fp32, "cpu"), ("fused", Precision.fp16, "privateuseone"),
    }  # fmt: skip


@pytest.mark.parametrize("kernels", ["baseline", "norm"])
def test_networks_without_shaders_run_on_the_cpu_with_the_reason(engine, on_gpu, frame, kernels):
    engine.configure(replace(on_gpu, kernels=kernels, precision=Precision.fp16))
    running = engine.process(frame, SEQUENCE).running
    assert running.device == "CPU"
    assert running.precision is Precision.fp32
    assert any("shaders" in reason for reason in running.limitations)


def test_the_cpu_paints_a_stream_while_shaders_compile(engine, on_gpu, frame, monkeypatch):
    compiled = []

    def slow(self, shader):
        compiled.append(shader)
        time.sleep(0.05)
        return pipeline(self, shader)

    pipeline = devices.Device.pipeline
    monkeypatch.setattr(devices.Device, "pipeline", slow)
    engine.configure(on_gpu)
    first = engine.process(frame, LIVE).running
    assert first.device == "CPU"
    assert any("compiled" in reason for reason in first.limitations)
    end = time.monotonic() + 60
    while (now := engine.process(frame, LIVE).running).device == "CPU":
        assert time.monotonic() < end
    assert any("fn texture" in shader.code for shader in compiled), "texture's too"
    assert not now.limitations


def test_the_cpu_goes_on_when_the_gpu_is_lost(engine, config, on_gpu, frame):
    said = []
    engine.report_gpu_failures(said.append)
    expected = pixels_of(engine, config, frame)
    engine.configure(on_gpu)
    pending = engine.begin(frame, SEQUENCE)
    opened(painting_device(on_gpu.device)).close()
    styled = engine.complete(pending)
    later = engine.process(frame, SEQUENCE)
    assert len(said) == 1
    assert "processor" in said[0]
    for each in (later,):
        assert np.abs(each.frame.pixels.astype(int) - expected).max() <= 1
        assert each.running.device == "CPU"
        assert any("lost" in reason for reason in each.running.limitations)
    assert styled.frame.pixels.shape == frame.pixels.shape
    engine.try_gpu_again()
    assert on_gpu.device in engine.process(frame, SEQUENCE).running.device


@pytest.mark.full
def test_every_engine_reports_a_gpu_that_another_one_gave_up(engine, catalog, on_gpu, frame):
    other, said = Engine(catalog), []
    engine.report_gpu_failures(said.append)
    for each in (engine, other):
        each.configure(on_gpu)
        each.process(frame, SEQUENCE)
    opened(painting_device(on_gpu.device)).close()
    other.process(frame, SEQUENCE)
    assert not said
    engine.process(frame, SEQUENCE)
    engine.process(frame, SEQUENCE)
    assert len(said) == 1


@pytest.mark.parametrize("reason", ["too little memory", "refused a command"])
def test_a_failing_gpu_is_given_up_with_its_reason(engine, on_gpu, frame, monkeypatch, reason):
    said, asked = [], []

    def fail(self, size):
        raise WebGpuError(reason)

    refusal = Family.webgpu_refusal

    def watched(self, *given):
        asked.append(given)
        return refusal(self, *given)

    monkeypatch.setattr(devices.Device, "allocate", fail)
    monkeypatch.setattr(Family, "webgpu_refusal", watched)
    engine.report_gpu_failures(said.append)
    engine.configure(on_gpu)
    asked_by_frame = []
    for _ in range(2):
        asked.clear()
        running = engine.process(frame, SEQUENCE).running
        assert running.device == "CPU"
        assert reason in running.limitations
        asked_by_frame.append(bool(asked))
    assert asked_by_frame == [True, False]
    assert reason in said[0]


@pytest.mark.full
def test_two_engines_share_a_gpu(engine, catalog, on_gpu, frame):
    other = Engine(catalog)
    for each in (engine, other):
        each.configure(on_gpu)
    mine = engine.begin(frame, SEQUENCE)
    theirs = other.process(frame, SEQUENCE).frame.pixels
    assert np.array_equal(engine.complete(mine).frame.pixels, theirs)


def test_a_picture_too_large_for_a_buffer_is_painted_by_the_cpu(engine, on_gpu, frame, monkeypatch):
    device = opened(painting_device(on_gpu.device))
    monkeypatch.setattr(device, "adapter", replace(device.adapter, binding_bytes=1 << 16))
    engine.configure(on_gpu)
    running = engine.process(frame, SEQUENCE).running
    assert running.device == "CPU"
    assert any("too large" in reason for reason in running.limitations)


def test_a_missing_gpu_is_refused_in_one_sentence(engine, config, gpu):
    for name in ("webgpu:99", "webgpu:x"):
        with pytest.raises(EngineError, match=name):
            engine.configure(replace(config, device=name))


def test_software_gpus_are_used_only_by_name(gpu):
    assert gpu not in [choice.key for choice in painting_devices()]
    assert painting_device(AUTO) != painting_device(gpu)
    with pytest.raises(ValueError, match="webgpu"):
        painting_device("webgpu")


def test_training_computes_on_pytorchs_devices(gpu):
    assert pytorch_key(gpu) == AUTO
    assert pytorch_key("cpu") == "cpu"


def test_pytorch_does_not_take_a_gpu_of_webgpu_for_its_accelerator(gpu):
    painting_device(gpu)
    with torch.random.fork_rng():
        torch.manual_seed(1)
    assert torch.get_device_module().__name__ != "torch.webgpu"
