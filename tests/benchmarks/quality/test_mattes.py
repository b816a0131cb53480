"""Mattes are measured on films whose true mattes are known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.quality import mattes
from benchmarks.tables.pages import markdown
from tests.conftest import picture
from utils.images.writing import write_pixels


@pytest.fixture
def photographs(tmp_path, monkeypatch):
    """Return a folder of pictures for one film of a few frames, in which the light drifts."""
    for name, number in (("FILMS", 1), ("WALK", 5), ("STILL", 7)):
        monkeypatch.setattr(mattes, name, number)
    monkeypatch.setattr(mattes, "CONDITIONS", mattes.CONDITIONS[1:2])
    folder = tmp_path / "photographs"
    folder.mkdir()
    for number in range(2):
        write_pixels(folder / f"{number}.png", picture(640, 360, number))
    return folder


def test_the_report_and_the_sheet_have_a_film_of_each_condition(photographs, tmp_path):
    report, sheet = tmp_path / "mattes.json", tmp_path / "sheet.png"
    assert mattes.main([str(photographs), str(report), str(sheet)]) == 0
    stored = json.loads(report.read_text("utf-8"))
    (film,) = stored["mattes"]["films"]
    assert film["overlap"] > 0.9
    assert film["least"] <= film["overlap"]
    assert 0 < film["still_flicker"] < film["moving_flicker"] < 0.1
    assert "| exposure that drifts |" in markdown(stored)
    assert sheet.stat().st_size > 10_000


def test_an_error_that_moves_with_the_person_is_no_flicker():
    true = mattes.person_at(300, 200, 0.0)
    moved = mattes.person_at(310, 200, 0.0)
    shots = [
        mattes.Shot(np.zeros((*mattes.SIZE, 3), np.uint8), matte, (x, 200.0))
        for matte, x in ((true, 300.0), (moved, 310.0))
    ]
    grown = [mattes._error(np.minimum(1, np.roll(s.true, 2, 1) + s.true), s) for s in shots]
    assert np.abs(grown[0].error).max() > 0.9
    assert mattes._flicker(grown) < 0.001
    still = [mattes.Error(each.error, each.band, (300.0, 200.0)) for each in grown]
    assert mattes._flicker(still) > 0.05
