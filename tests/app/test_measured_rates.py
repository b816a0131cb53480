"""Measured rates are found again for the same GPU, driver and version, and for no other."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from app import measured_rates
from app.measured_rates import Machine, find_rate, load_rates, rates_path, store_rates

DEVICE = torch.device("cuda", 0)
HERE = Machine("NVIDIA GeForce RTX 3060", "580.1", "0.1.0")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "measured.json"


@pytest.fixture
def on(monkeypatch):
    """Return a function that turns this machine into another one for measurements."""

    def become(machine: Machine) -> None:
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: machine.gpu)
        monkeypatch.setattr(measured_rates, "driver_version", lambda: machine.driver)
        monkeypatch.setattr(measured_rates, "styleforge_version", lambda: machine.styleforge)

    become(HERE)
    return become


def test_a_measured_time_is_found_again(path, on):
    assert load_rates(path) == []
    store_rates(path, Machine.of(DEVICE), "full", {(512, 512): 4.0})
    found = find_rate(load_rates(path), Machine.of(DEVICE), "full", (512, 512))
    assert found is not None
    assert (found.machine, found.ms, found.fps) == (HERE, 4.0, 250.0)
    assert find_rate(load_rates(path), HERE, "full", (1280, 720)) is None
    assert find_rate(load_rates(path), HERE, "lite", (512, 512)) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(HERE, gpu="NVIDIA L4"),
        replace(HERE, driver="999.1"),
        replace(HERE, styleforge="0.2.0"),
    ],
    ids=str,
)
def test_a_time_of_another_gpu_driver_or_version_does_not_count(other, path, on):
    store_rates(path, Machine.of(DEVICE), "full", {(512, 512): 4.0})
    on(other)
    assert find_rate(load_rates(path), Machine.of(DEVICE), "full", (512, 512)) is None
    store_rates(path, Machine.of(DEVICE), "full", {(512, 512): 5.0})
    assert [rate.ms for rate in load_rates(path)] == [4.0, 5.0]


def test_a_newer_time_takes_the_place_of_the_older(path, on):
    store_rates(path, Machine.of(DEVICE), "full", {(512, 512): 4.0, (1280, 720): 9.0})
    store_rates(path, Machine.of(DEVICE), "lite", {(512, 512): 2.0})
    store_rates(path, Machine.of(DEVICE), "full", {(512, 512): 5.0})
    times = {(rate.network, rate.width): rate.ms for rate in load_rates(path)}
    assert times == {("full", 512): 5.0, ("full", 1280): 9.0, ("lite", 512): 2.0}
    assert [file.name for file in path.parent.iterdir()] == ["measured.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: "{",
        lambda stored: "[]",
        lambda stored: json.dumps({"rates": [1]}),
        lambda stored: json.dumps({"rates": [{**stored, "ms": "4"}]}),
        lambda stored: json.dumps({"rates": [{**stored, "ms": -1.0}]}),
        lambda stored: json.dumps({"rates": [{**stored, "ms": float("nan")}]}),
        lambda stored: json.dumps({"rates": [{**stored, "width": 5.5}]}),
        lambda stored: json.dumps({"rates": [{**stored, "network": 1}]}),
        lambda stored: json.dumps({"rates": [{**stored, "machine": {}}]}),
        lambda stored: json.dumps({"rates": [{**stored, "machine": [1]}]}),
        lambda stored: json.dumps({"rates": [{**stored, "more": 1}]}),
    ],
)
def test_a_damaged_file_is_one_sentence_and_the_next_time_replaces_it(damage, path, on):
    store_rates(path, Machine.of(DEVICE), "full", {(512, 512): 4.0})
    (stored,) = json.loads(path.read_text())["rates"]
    path.write_text(damage(stored))
    with pytest.raises(ValueError, match=r"measured\.json are damaged$"):
        load_rates(path)
    store_rates(path, Machine.of(DEVICE), "full", {(512, 512): 6.0})
    assert [rate.ms for rate in load_rates(path)] == [6.0]


def test_a_folder_in_its_place_is_one_sentence(path):
    path.mkdir(parents=True)
    with pytest.raises(ValueError, match=r"Is a directory$"):
        load_rates(path)


def test_the_file_is_in_the_users_folder(tmp_path):
    assert rates_path().is_relative_to(tmp_path)
