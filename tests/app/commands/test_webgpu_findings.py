"""`styleforge doctor` lists the GPUs of WebGPU, and which of GPU and CPU is faster."""

from __future__ import annotations

import pytest

from app.commands.card_rates import CardRatesError
from app.commands.webgpu_findings import check_webgpu, measure_gain
from app.engine import webgpu_rates as rates
from kernels.network.webgpu.library import WebGpuError
from models import webgpu_devices as devices
from models.webgpu_devices import key_of
from tests.helpers.errors import mentions
from tests.helpers.software_gpu import forget_gpus, software_gpu, unmeasured_hardware


@pytest.fixture
def hardware(monkeypatch):
    with unmeasured_hardware(monkeypatch) as device:
        monkeypatch.setattr(rates, "SIZE", (32, 16))
        yield device


def says():
    return [f"{finding.state}: {finding.says}" for finding in check_webgpu()]


def test_a_software_gpu_is_listed_as_one():
    software = software_gpu()
    adapter = devices.adapter_of(software)
    assert any(mentions(line, key_of(software), adapter.name, "software") for line in says())


@pytest.mark.full
def test_a_gpu_is_listed_with_its_rate_once_it_is_measured(hardware):
    adapter = devices.adapter_of(hardware)
    before = says()
    assert any(mentions(line, "ok", adapter.name, adapter.backend, "FP16") for line in before)
    assert any(mentions(line, "note", key_of(hardware), "doctor --measure") for line in before)
    gain = measure_gain()
    assert mentions(gain, "Automatic takes the")
    assert any(gain in line for line in says())


def test_a_missing_package_is_a_finding(monkeypatch):
    def fail():
        raise WebGpuError("no wgpu")

    monkeypatch.setattr(devices, "adapters", fail)
    forget_gpus()
    assert says() == ["note: WebGPU cannot be used: no wgpu"]
    forget_gpus()


@pytest.mark.full
def test_a_gpu_that_fails_while_it_is_measured_is_one_sentence(hardware, monkeypatch):
    def fail(self):
        raise WebGpuError("lost")

    monkeypatch.setattr(rates.Measurement, "step", fail)
    with pytest.raises(CardRatesError, match="lost"):
        measure_gain()
