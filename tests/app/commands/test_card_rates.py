"""The doctor reports frame rates, measured if available, else predicted, and says which."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from app import measured_rates
from app.cli import main
from app.commands import bench, card_rates, doctor
from app.commands.card_rates import CardRatesError, measure_rates, rates_of, remember
from app.measured_rates import SIZES, Machine, rates_path
from kernels.network.gpu import Gpu
from kernels.time_model.cards import cards, find
from kernels.time_model.prediction import predict
from models.network_config import FULL, LITE, NetworkConfig
from tests.helpers.errors import mentions

DEVICE = torch.device("cuda", 0)


@pytest.fixture
def rtx_3060(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA GeForce RTX 3060")
    monkeypatch.setattr(Gpu, "of", lambda _: Gpu((8, 6), 101_376, 102_400, 28))
    monkeypatch.setattr(measured_rates, "driver_version", lambda: "580.1")
    monkeypatch.setattr(doctor, "resolve", lambda _: DEVICE)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[dict[str, str]]]:
    assert main(["doctor", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def speed() -> list[str]:
    return [f"{found.state}: {found.says}" for found in doctor.run_check(doctor.check_speed)]


def test_a_card_of_the_table_is_predicted_anywhere(capsys):
    found = told(capsys, "--card", "rtx 3060")
    assert list(found) == ["NVIDIA GeForce RTX 3060"]
    lines = [finding["says"] for finding in found["NVIDIA GeForce RTX 3060"]]
    assert lines == [
        f"{network}, {width}x{height}: predicted "
        f"{predict(find('RTX 3060'), width, height, network).fps:.0f} frames a second "
        f"({backend}, from NVIDIA's published specifications)"
        for network, backend in (("full", "sm80-small"), ("lite", "sm80"))
        for width, height in SIZES
    ]


def test_all_cards_are_told_and_those_without_a_prediction_say_why(capsys):
    found = told(capsys, "--cards")
    assert list(found) == [card.name for card in cards()]
    (finding,) = found["Tesla T4"]
    assert finding["state"] == "note"
    assert mentions(finding["says"], "no prediction:", "fitted")


def test_an_unknown_card_is_one_sentence(capsys):
    assert main(["doctor", "--card", "RTX 1"]) != 0
    assert "no card 'RTX 1'" in capsys.readouterr().err


def test_without_a_gpu_the_doctor_says_where_predictions_are(monkeypatch):
    monkeypatch.setattr(doctor, "resolve", lambda _: torch.device("cpu"))
    assert mentions(speed()[0], "ok:", "--cards")


def test_a_gpu_that_was_not_measured_is_predicted_and_says_so(rtx_3060):
    note, *lines = speed()
    assert mentions(note, "note:", "predicted")
    assert "--measure" in note
    assert len(lines) == 6
    assert all(": predicted " in line and "measured" not in line for line in lines)


def test_a_measured_rate_takes_the_place_of_the_predicted_one(rtx_3060):
    remember(Machine.of(DEVICE), "lite", {(1280, 720): 8.0})
    note, *lines = speed()
    assert mentions(note, "note:", "predicted")
    middle = lines.pop(4)
    assert mentions(middle, "ok: lite, 1280x720", "measured 125 frames")
    assert middle.endswith(", driver 580.1)")
    assert all(": predicted " in line for line in lines)


def test_where_everything_was_measured_nothing_is_predicted(rtx_3060):
    for network in ("full", "lite"):
        remember(Machine.of(DEVICE), network, dict.fromkeys(SIZES, 8.0))
    assert [line.partition(" 125 ")[0] for line in speed()] == [
        f"ok: {network}, {width}x{height}: measured"
        for network in ("full", "lite")
        for width, height in SIZES
    ]


def test_a_damaged_file_is_told_and_the_rates_are_predicted(rtx_3060):
    rates_path().parent.mkdir(parents=True)
    rates_path().write_text("{")
    damaged, *_, last = speed()
    assert mentions(damaged, "note:", str(rates_path()), "damaged")
    assert ": predicted " in last


def test_a_gpu_that_cannot_be_predicted_says_why(rtx_3060, monkeypatch):
    monkeypatch.setattr(Gpu, "of", lambda _: Gpu((7, 5), 65_536, 65_536, 40))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Tesla T4")
    (line,) = rates_of(DEVICE)
    assert isinstance(line, str)
    assert mentions(line, "Tesla T4", "not fitted")
    assert "--measure" in line


def test_measuring_without_a_gpu_is_one_sentence(monkeypatch):
    with pytest.raises(CardRatesError, match="needs an NVIDIA GPU"):
        measure_rates(torch.device("cpu"))


def test_measuring_times_every_network_and_size_and_keeps_it(rtx_3060, monkeypatch):
    made: list[tuple[tuple[int, ...], tuple[int, int]]] = []

    def network_of(widths: tuple[int, ...], **_: int) -> Any:
        network = SimpleNamespace(widths=widths)
        for name in ("to", "requires_grad_", "eval"):
            setattr(network, name, lambda *_: network)
        return network

    def call(network: Any, size: tuple[int, int]) -> Any:
        made.append((network.widths, size))
        return lambda: None

    def timed(calls: dict[str, Any], *_: object) -> dict[str, Any]:
        ms = {"full": 5.0, "lite": 2.0}
        return {name: SimpleNamespace(median_ms=ms[name]) for name in calls}

    monkeypatch.setattr(card_rates, "prepare", lambda **_: ())
    monkeypatch.setattr(card_rates, "TransformerNetFused", network_of)
    monkeypatch.setattr(card_rates, "_picture_call", call)
    monkeypatch.setattr(card_rates, "interleave", timed)
    measure_rates(DEVICE)
    assert made == [(config.widths, size) for config in (FULL, LITE) for size in SIZES]
    lines = speed()
    assert ["measured 200 frames" in line for line in lines] == [True] * 3 + [False] * 3
    assert ["measured 500 frames" in line for line in lines] == [False] * 3 + [True] * 3


def test_a_file_that_cannot_be_written_is_one_sentence(rtx_3060):
    rates_path().parent.parent.mkdir(parents=True, exist_ok=True)
    rates_path().parent.write_text("a file where a folder should be")
    with pytest.raises(CardRatesError, match=r"cannot write .*json"):
        remember(Machine.of(DEVICE), "full", {(512, 512): 1.0})


def test_the_benchmark_keeps_the_time_of_the_network_that_the_program_runs(rtx_3060):
    rows = [
        {"kernels": "baseline", "precision": "FP16", "median_ms": 50.0},
        {"kernels": "fused", "precision": "FP32", "median_ms": 20.0},
        {"kernels": "fused", "precision": "FP16", "median_ms": 4.0},
    ]
    bench._remember(DEVICE, LITE, (512, 512), rows)
    full, lite = (line for line in speed() if "512x512" in line)
    assert "measured 250 frames" in lite
    assert "predicted" in full
    bench._remember(DEVICE, FULL, (1280, 720), [{**rows[2], "kernels": "baseline"}])
    bench._remember(DEVICE, NetworkConfig(num_residual_blocks=4), (1280, 720), rows)
    assert "full, 1280x720: predicted" in "\n".join(speed())


@pytest.mark.gpu
def test_this_gpu_is_measured_and_the_doctor_tells_it(native_kernels, capsys):
    main(["doctor", "--measure", "--json"])
    every = [finding["says"] for finding in json.loads(capsys.readouterr().out)["Speed"]]
    lines = [line for line in every if line.startswith(("full, ", "lite, "))]
    assert len(lines) == 2 * len(SIZES)
    assert all(": measured " in line for line in lines)
