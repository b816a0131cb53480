"""The report of a film shows how busy each stage was, and which one the others waited for."""

from __future__ import annotations

import pytest

from app.export.film.report import CONVERT, FilmReport, StageClock


def report(**shares: float) -> FilmReport:
    return FilmReport(30, 10, 4.0, shares, "libx264, CPU", "Fused")


@pytest.mark.parametrize(
    ("shares", "limit", "words"),
    [
        ((0.1, 0.85, 0.99, 0.2), "network", "the network limits"),
        ((0.1, 0.3, 0.4, 0.97), "encode", "encoding limits"),
        ((0.95, 0.3, 0.4, 0.5), "decode", "reading limits"),
        ((0.1, 0.3, 0.9, 0.5), "engine", "the work around the network limits"),
    ],
)
def test_the_stage_that_limits_is_named(shares, limit, words):
    stages = dict(zip(("decode", "network", "engine", "encode"), shares, strict=True))
    made = report(**stages)
    assert made.limit == limit
    assert made.sentence.endswith(words)
    assert made.as_dict()["limit"] == limit
    assert made.as_dict()["busy"] == stages


def test_frames_of_an_earlier_run_do_not_count_for_the_rate():
    assert report(decode=0.0, network=0.0, engine=0.0, encode=0.0).fps == 5.0


def test_shares_are_of_the_time_that_passed():
    clock = StageClock()
    clock.add("decode", 1.0)
    clock.add("network", 6.0)
    clock.add("encode", 1.0)
    clock.add(CONVERT, 2.0)
    assert clock.shares(4.0) == {"decode": 0.25, "network": 1.0, "engine": 0.0, "encode": 0.5}
    assert clock.shares(0.0)["decode"] == 0.0
