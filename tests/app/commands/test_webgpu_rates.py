"""A GPU is measured through WebGPU with a block for a report, and predicted until then."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from app.commands import card_rates, doctor, webgpu_findings, webgpu_rates
from app.commands.card_rates import CardRatesError, remember
from app.commands.webgpu_rates import measure_plan, measure_webgpu, told_agreement, webgpu_rates_of
from app.measured_rates import SIZES, Machine, find_rate, load_rates, rates_path
from kernels.network.webgpu.adapters import Adapter
from kernels.network.webgpu.library import WebGpuError
from kernels.time_model.webgpu import predict
from kernels.time_model.webgpu_cards import card_of_adapter
from models.network_config import NetworkConfig
from models.webgpu_devices import adapter_of
from tests.helpers.errors import mentions
from tests.helpers.software_gpu import software_gpu

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
M1 = Adapter("Apple M1", "Metal", "macOS 15", False, True, True, 1 << 30, None)
TINY = NetworkConfig(num_residual_blocks=1, widths=(16, 16, 16), end_kernel=3)
SMALL, HUGE = (16, 16), (20_000, 10_000)


def found_by(monkeypatch: pytest.MonkeyPatch, found: Adapter | None, device: torch.device) -> None:
    """Make a GPU, or None, the first of WebGPU, and `device` the default one of PyTorch."""

    def first() -> Adapter:
        if found is None:
            raise WebGpuError("it has none")
        return found

    monkeypatch.setattr(webgpu_rates, "first_adapter", first)
    monkeypatch.setattr(webgpu_findings, "measure_gain", lambda: "faster than the CPU")
    monkeypatch.setattr(doctor, "resolve", lambda _: device)


def speed() -> list[str]:
    return [f"{found.state}: {found.says}" for found in doctor.run_check(doctor.check_speed)]


@pytest.fixture
def adapter():
    return adapter_of(software_gpu())


@pytest.fixture
def tiny(monkeypatch):
    """Replace the networks by a tiny one, and the sizes by a small and an impossible one."""
    for module in (webgpu_rates, card_rates):
        monkeypatch.setattr(module, "CONFIGS", {"tiny": TINY})
    monkeypatch.setattr(card_rates, "SIZES", (SMALL, HUGE))
    for name, value in (("BUDGET_S", 0.0), ("LEAST_RUNS", 1), ("CHECKED", SMALL)):
        monkeypatch.setattr(webgpu_rates, name, value)
    of_sizes = partial(measure_webgpu, sizes=(SMALL, HUGE))
    monkeypatch.setattr(webgpu_rates, "measure_webgpu", of_sizes)


@pytest.mark.full
@pytest.mark.slow
def test_a_measured_gpu_has_a_block_and_its_times_are_kept(adapter, tiny, monkeypatch, capsys):
    found_by(monkeypatch, adapter, CPU)
    doctor._measure(CPU, in_json=False)
    block = capsys.readouterr().out
    assert mentions(block, adapter.name, adapter.backend, adapter.driver)
    assert mentions(block, "FP16: ", "timestamps: ", "limits: ", "versions: StyleForge", "system: ")
    assert mentions(
        block,
        "tiny: right, ",
        "tiny, FP",
        "16x16: ",
        "20000x10000: not measured: ",
        "faster than the CPU",
    )
    rates = load_rates(rates_path())
    assert [(rate.width, rate.height) for rate in rates] == [SMALL]
    assert find_rate(rates, Machine.of_adapter(adapter), "tiny", SMALL) == rates[0]
    assert any(mentions(line, "ok: ", "tiny, 16x16: measured") for line in speed())


def test_the_block_stays_out_of_json(adapter, tiny, monkeypatch, capsys):
    found_by(monkeypatch, adapter, CPU)
    monkeypatch.setattr(webgpu_rates, "measure_webgpu", lambda found, tell: tell(found.name))
    doctor._measure(CPU, in_json=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert adapter.name in printed.err


def test_wrong_shaders_are_told():
    assert told_agreement(60.0).startswith("right, 60 dB")
    assert told_agreement(12.0).startswith("WRONG, 12 dB")
    assert told_agreement(float("-inf")).startswith("WRONG")


class Plan:
    """A plan that counts its pictures, and its measurements of the GPU's time."""

    def __init__(self) -> None:
        self.painted = self.measured = 0

    def __call__(self, weights: Any, pictures: Any) -> None:
        assert (pictures.shape, pictures.dtype) == ((1, 6, 8, 3), np.uint8)
        self.painted += 1

    def times(self, weights: Any, key: Any) -> dict[str, float]:
        self.measured += 1
        return {key("encoder/conv1"): 2.5}


@pytest.mark.parametrize(("ms", "timed", "gpu"), [(4.0, True, 2.5), (4.0, False, None)])
def test_a_fast_gpu_is_timed_by_pictures_and_by_itself(ms, timed, gpu, monkeypatch):
    monkeypatch.setattr(webgpu_rates, "_wall", lambda call: call() or ms)
    plan, runs = Plan(), webgpu_rates.RUNS
    found = measure_plan(plan, None, (8, 6), timed)
    assert (found.wall, found.gpu, found.best) == (ms, gpu, gpu or ms)
    assert (plan.painted, plan.measured) == (2 + 2 * runs, runs if timed else 0)


def test_a_slow_gpu_is_timed_by_few_whole_pictures(monkeypatch):
    monkeypatch.setattr(webgpu_rates, "_wall", lambda call: call() or 1500.0)
    plan = Plan()
    found = measure_plan(plan, None, (8, 6), True)
    assert (found.best, found.gpu) == (1500.0, None)
    assert (plan.painted, plan.measured) == (2 + webgpu_rates.LEAST_RUNS, 0)


def test_a_gpu_has_other_times_through_webgpu_than_through_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA H200")
    through = replace(M1, name="NVIDIA H200", backend="Vulkan", driver="580.1")
    assert Machine.of_adapter(through).gpu != Machine.of(CUDA).gpu
    assert Machine.of_adapter(through) != Machine.of_adapter(replace(through, driver="590.1"))


def test_a_gpu_of_the_table_is_predicted_until_it_is_measured(monkeypatch):
    found_by(monkeypatch, M1, CPU)
    card = card_of_adapter(M1.name)
    assert card is not None
    _, note, *lines = speed()
    assert mentions(note, "note: Apple M1: ", "predicted", "--measure")
    assert len(lines) == 2 * len(SIZES)
    assert mentions(lines[0], "full, 512x512: predicted", f"{predict(card, 512, 512).fps:.0f}")
    assert mentions(lines[2], "1920x1080", f" {predict(card, 1920, 1080).fps:.1f} frames")
    remember(Machine.of_adapter(M1), "full", {(512, 512): 8.0})
    assert mentions(speed()[2], "full, 512x512: measured 125 frames", "macOS 15")


def test_an_unknown_gpu_is_not_predicted():
    (note,) = webgpu_rates_of(replace(M1, name="A GPU"))
    assert mentions(str(note), "no prediction for A GPU", "--measure")


def test_storage_without_fp16_is_predicted_slower():
    half, single = (
        [rate.fps for rate in webgpu_rates_of(replace(M1, half=half)) if not isinstance(rate, str)]
        for half in (True, False)
    )
    assert all(slow < fast for slow, fast in zip(single, half, strict=True))


def test_on_an_nvidia_gpu_only_measured_rates_are_told(monkeypatch):
    found_by(monkeypatch, M1, CUDA)
    monkeypatch.setattr(card_rates, "rates_of", lambda _: iter(()))
    assert speed() == []
    remember(Machine.of_adapter(M1), "lite", {(1280, 720): 8.0})
    (line,) = speed()
    assert mentions(line, "ok: Apple M1: lite, 1280x720: measured 125 frames")


def test_a_machine_without_any_gpu_is_one_sentence(monkeypatch):
    found_by(monkeypatch, None, CPU)
    with pytest.raises(CardRatesError, match=r"needs a GPU.*it has none"):
        doctor._measure(CPU, in_json=False)
    assert mentions(speed()[1], "ok: ", "it has none")


def test_an_nvidia_gpu_without_webgpu_is_measured_and_says_why(monkeypatch, capsys):
    found_by(monkeypatch, None, CUDA)
    measured: list[torch.device] = []
    monkeypatch.setattr(card_rates, "measure_rates", measured.append)
    doctor._measure(CUDA, in_json=False)
    assert measured == [CUDA]
    assert "it has none" in capsys.readouterr().out


def test_a_gpu_that_fails_is_one_sentence(monkeypatch):
    def fail(found: Adapter) -> None:
        raise WebGpuError("it is lost")

    monkeypatch.setattr(webgpu_rates, "Device", fail)
    with pytest.raises(CardRatesError, match=r"Apple M1.*it is lost"):
        measure_webgpu(M1)
