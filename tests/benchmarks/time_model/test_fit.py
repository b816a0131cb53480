"""Fitting recovers the constants behind given times, and uses only times of the whole GPU."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from benchmarks.time_model import files
from benchmarks.time_model.fit import BANDWIDTH_SHARE, fit, squared_error
from kernels.time_model import prediction
from kernels.time_model.prediction import Calibration, calibration
from tests.benchmarks.time_model.conftest import CONSTANTS
from tests.helpers.errors import mentions


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_bytes(prediction.FILE.read_bytes())
    return path


@pytest.mark.full
def test_the_constants_that_times_were_made_of_are_found(make_report, told):
    measured = [one for _, one in files.measured(make_report())]
    start = calibration()
    found = replace(start, constants=fit(measured, start))
    assert squared_error(measured, found) < squared_error(measured, start) / 100
    for backend, constants in CONSTANTS.items():
        for name, value in asdict(constants).items():
            if name == "bandwidth_share":  # not fitted, see BANDWIDTH_SHARE
                assert found.constants[backend].bandwidth_share == BANDWIDTH_SHARE
            else:
                assert getattr(found.constants[backend], name) == pytest.approx(value, rel=0.1)


@pytest.mark.full
def test_a_backend_that_was_not_measured_keeps_its_constants(make_report):
    rows = [one for _, one in files.measured(make_report()) if one.backend != "sm90"]
    start = calibration()
    assert fit(rows, start)["sm90"] == start.constants["sm90"]


@pytest.mark.full
def test_times_on_fewer_multiprocessors_take_no_part_in_the_fit(make_report, stored, tmp_path):
    constants = []
    for factor in (1.0, 7.0):
        path = tmp_path / f"{factor}.json"
        path.write_text(json.dumps(make_report(factor)))
        constants.append(files.refit(path, stored).constants)
    assert constants[0] == constants[1]


@pytest.mark.full
def test_a_fit_writes_the_constants_and_what_they_predict(make_report, stored, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(make_report()))
    told = files.refit(path, stored)
    written = Calibration.of(json.loads(stored.read_text()))
    assert written == told
    assert written.traits == calibration().traits
    assert mentions(written.source, "NVIDIA H200", "driver 580.1", "2026-01-02, commit 0123")
    for row in json.loads(path.read_text())["model"]:
        assert row["predicted_ms"] == pytest.approx(row["ms"], rel=0.1)
        assert sum(row["predicted_layers_ms"].values()) == pytest.approx(row["predicted_ms"])


def test_new_kernels_leave_the_constants_as_they_are(stored):
    before = json.loads(stored.read_text())
    files.write_described({"sm80": {}}, stored)
    after = json.loads(stored.read_text())
    assert after == {**before, "description": {"sm80": {}}}
