"""The model of WebGPU is fitted to the stored report, and its tables tell fitted from predicted."""

from __future__ import annotations

import pytest

from benchmarks.time_model import webgpu
from benchmarks.time_model.webgpu import check, fit, measured, predictions, stored_report
from kernels.time_model.webgpu import Calibration, Constants, calibration, predict
from kernels.time_model.webgpu_cards import gpu_cards
from tests.helpers.errors import mentions


def test_the_stored_constants_are_the_fit_of_the_stored_report(tmp_path):
    """If this fails, run `python -m benchmarks.time_model fit-webgpu`, then `page`."""
    told = webgpu.refit(calibration=tmp_path / "webgpu.json")
    stored = calibration()
    assert told.source == stored.source
    assert told.constants.bandwidth_share == pytest.approx(stored.constants.bandwidth_share, 0.01)
    for network, kinds in stored.constants.efficiencies.items():
        assert told.constants.efficiencies[network] == pytest.approx(kinds, rel=0.01)


def test_the_model_reproduces_the_measured_gpu():
    report = stored_report()
    card, rows = webgpu.card_of(report), measured(report)
    assert {row.network for row in rows} == {"full", "lite"}
    assert {row.fitted for row in rows} == {True, False}
    for row in rows:
        found = predict(card, row.width, row.height, row.network, half=row.half).ms
        assert found == pytest.approx(row.ms, rel=0.15)


def test_the_fit_finds_the_constants_that_made_the_times():
    """The times of layers include a pass, which the times of networks do not."""
    report = stored_report()
    told = calibration()
    halved = Constants(
        4.0, 0.5, {
            network: {kind: share / 2 for kind, share in kinds.items()}
            for network, kinds in told.constants.efficiencies.items()
        },
    )  # fmt: skip
    card, truth = webgpu.card_of(report), Calibration("", halved)
    for row, one in zip(report["webgpu"], measured(report), strict=True):
        size = one.width, one.height
        found = predict(card, *size, one.network, half=one.half, told=truth)
        row["gpu"]["all"]["median"] = found.ms
        row["layers"] = {name: {"median": ms + 0.01} for name, ms in found.layers_ms.items()}
    fitted = fit(report).constants
    assert fitted.dispatch_us == pytest.approx(4.0, rel=0.05)
    assert fitted.bandwidth_share == pytest.approx(0.5, rel=0.05)
    for network, kinds in halved.efficiencies.items():
        assert fitted.efficiencies[network] == pytest.approx(kinds, rel=0.05)


def test_every_card_has_its_source_and_its_predictions():
    text = predictions(calibration())
    for card in gpu_cards():
        assert mentions(text, f"| {card.name} | vendor's specification", f"| {card.name} | ")
        assert f"{predict(card, 1280, 720, 'lite').fps:.0f}" in text


def test_the_check_tells_fitted_times_from_predicted_ones():
    report = stored_report()
    text = check(report, calibration())
    assert text.count("| fitted |") == text.count("| predicted |") == len(measured(report)) // 2


def test_a_report_of_an_unknown_gpu_or_of_one_size_is_refused():
    report = stored_report()
    with pytest.raises(ValueError, match="'Another GPU'"):
        fit({**report, "adapter": {**report["adapter"], "name": "Another GPU"}})
    with pytest.raises(ValueError, match="1920x1080"):
        fit({**report, "webgpu": [row for row in report["webgpu"] if row["network"] == "lite"]})
