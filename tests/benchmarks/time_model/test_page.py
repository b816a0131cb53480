"""The page of predictions matches the stored calibration and the stored check."""

from __future__ import annotations

import pytest

from benchmarks.time_model import files, page
from benchmarks.time_model.__main__ import PAGE
from benchmarks.time_model.fit import predicted
from kernels.time_model.cards import cards, find
from kernels.time_model.prediction import calibration, predict
from tests.helpers.errors import mentions


def test_the_page_agrees_with_the_calibration_and_the_check():
    """If this fails, run `python -m benchmarks.time_model page`."""
    text = PAGE.read_text("utf-8")
    assert page.refreshed(text, calibration(), page.stored_report()) == text
    assert [match[2] for match in page.BLOCK.finditer(text)] == [
        *("predictions", "check", "webgpu predictions", "webgpu check"),
    ]


def test_the_stored_check_has_the_predictions_of_the_stored_constants():
    """If this fails, run `python -m benchmarks.time_model fit`."""
    report = page.stored_report()
    if report is None:
        pytest.skip("nothing was measured yet")
    for row, one in files.measured(report):
        assert row["predicted_ms"] == pytest.approx(predicted(one, calibration()).ms)


def test_every_card_has_a_line_of_rates_or_none():
    lines = page.predictions(calibration()).splitlines()
    for card in cards():
        (line,) = (line for line in lines if line.startswith(f"| {card.short_name} |"))
        assert line.count("| sm75 | - | - | -") == 2 * (card.capability < (8, 0))
    (line,) = (line for line in lines if line.startswith("| RTX 3060 |"))
    for network in ("full", "lite"):
        assert f" {predict(find('RTX 3060'), 1280, 720, network).fps:.0f} |" in line
    assert "predicted at 512x512" in page.predictions(calibration())


def test_the_check_tells_fitted_times_from_predicted_ones(make_report):
    report = make_report()
    for row in report["model"]:
        row["predicted_ms"] = row["ms"] * (1.01 if row["all"] else 1.2)
    text = page.check(report)
    assert mentions(text, "NVIDIA H200", "Python 3.12.3", "commit 0123")
    assert mentions(text, "10 fitted times is 1 %")
    assert mentions(text, "other times is 20 %")
    assert text.count("| +20 % | predicted |") == text.count("| +1 % | fitted |") == 10


def test_without_a_check_its_block_is_empty(tmp_path):
    assert page.stored_report(tmp_path / "model.json") is None
    text = "<!-- check -->\nold\n<!-- end -->"
    assert page.refreshed(text, calibration(), None) == "<!-- check -->\n<!-- end -->"
