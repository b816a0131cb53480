"""Automatic takes a GPU that was measured to be faster than the CPU, and keeps the times."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.engine import webgpu_rates as rates
from app.engine.painting_devices import painting_device, painting_devices
from app.parameters import AUTO
from models import webgpu_devices as devices
from models.webgpu_devices import key_of
from tests.helpers.software_gpu import forget_gpus, unmeasured_hardware


@pytest.fixture
def hardware(monkeypatch):
    with unmeasured_hardware(monkeypatch) as device:
        yield device


def kept(**changes):
    adapter = devices.found()[0]
    rate = rates.KeptRate(
        *(adapter.name, adapter.backend, adapter.driver, rates.styleforge_version()), 10.0, 50.0
    )
    return replace(rate, **changes)


def write(*rows):
    path = rates.rates_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = rates.KeptRate.__slots__
    listed = [{name: getattr(row, name) for name in fields} for row in rows]
    path.write_text(json.dumps({"rates": listed}))
    rates._decided.clear()


def test_automatic_takes_the_cpu_until_a_gpu_is_measured(hardware):
    assert painting_device(AUTO).type == "cpu"
    assert rates.unmeasured() == hardware
    assert rates.why_not() == ""


def test_automatic_takes_a_gpu_that_is_faster(hardware):
    write(kept())
    assert painting_device(AUTO) == hardware
    assert rates.unmeasured() is None
    assert painting_device("webgpu") == hardware
    assert key_of(hardware) in [choice.key for choice in painting_devices()]


def test_automatic_leaves_a_slower_gpu_and_says_so(hardware):
    write(kept(gpu_ms=60.0))
    assert painting_device(AUTO).type == "cpu"
    assert devices.found()[0].name in rates.why_not()


@pytest.mark.parametrize("changes", [{"driver": "older"}, {"styleforge": "0"}, {"gpu": "other"}])
def test_a_rate_of_other_conditions_does_not_count(hardware, changes):
    write(kept(**changes))
    assert painting_device(AUTO).type == "cpu"
    assert rates.unmeasured() == hardware


@pytest.mark.parametrize(
    "damaged", ["", "{", '{"rates": 3}', '{"rates": [{"gpu": "x"}]}', '{"rates": [[]]}']
)
def test_a_damaged_file_is_measured_again(hardware, damaged):
    rates.rates_path().parent.mkdir(parents=True, exist_ok=True)
    rates.rates_path().write_text(damaged)
    rates._decided.clear()
    assert painting_device(AUTO).type == "cpu"
    assert rates.unmeasured() == hardware


@pytest.mark.parametrize("ms", [0.0, -1.0, float("inf"), float("nan")])
def test_an_impossible_time_does_not_count(hardware, ms):
    write(kept(gpu_ms=ms))
    assert rates.load_kept(rates.rates_path()) == []


@pytest.mark.full
def test_a_measurement_paints_by_turns_and_keeps_its_result(hardware, monkeypatch):
    monkeypatch.setattr(rates, "SIZE", (32, 16))
    other = kept(gpu="other")
    write(other)
    measurement = rates.Measurement(hardware)
    steps = 1
    while (rate := measurement.step()) is None:
        steps += 1
    assert steps == 2 * (rates.WARMUP + rates.RUNS)
    assert rate.fits(devices.adapter_of(hardware))
    assert rates.load_kept(rates.rates_path()) == [other, rate]
    assert (painting_device(AUTO) == hardware) == (rate.gain > 1)


def test_a_machine_without_a_gpu_gets_the_reason(monkeypatch, hardware):
    monkeypatch.setattr(devices, "adapters", lambda: ())
    forget_gpus()
    assert rates.unmeasured() is None
    assert "Vulkan" in rates.why_not()
