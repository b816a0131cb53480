"""A still picture is styled once, refined, and styled again after a change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.live.session.streams import Still, give


def test_a_still_picture_is_styled_again_when_the_config_changes_and_then_rests(session, qtbot):
    results: list = []
    session.styled.connect(results.append)
    give(session, Still())
    qtbot.waitUntil(lambda: bool(results), timeout=5000)
    qtbot.wait(300)
    assert len(results) == 1
    session.config = replace(session.config, strength=0.5)
    qtbot.waitUntil(lambda: len(results) > 1, timeout=5000)
    qtbot.wait(200)
    assert len(results) == 2


def test_a_still_picture_at_the_automatic_size_is_refined(session, qtbot, monkeypatch):
    monkeypatch.setattr("app.engine.resolution.STROKE_SIZE", 64)
    sizes: list = []
    session.styled.connect(lambda r: sizes.append(r.size))
    session.config = replace(session.config, size=None)
    give(session, Still(width=320, height=240))
    qtbot.waitUntil(lambda: len(sizes) >= 2, timeout=15_000)
    assert sizes[-1] > sizes[0]


def test_refining_a_still_picture_is_told_from_its_begin_to_its_end(session, qtbot, monkeypatch):
    monkeypatch.setattr("app.engine.resolution.STROKE_SIZE", 64)
    told: list[float | None] = []
    session.refining.connect(told.append)
    session.config = replace(session.config, size=None)
    give(session, Still(width=320, height=240))
    qtbot.waitUntil(lambda: None in told, timeout=15_000)
    assert told[-1] is None
    shares = [share for share in told if share is not None]
    assert len(shares) == len(told) - 1
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert shares[-1] == pytest.approx(1)


def test_comparing_a_still_picture_goes_on_measuring(session, qtbot):
    give(session, Still())
    session.config = replace(session.config, compare=True)
    counted: list = []
    session.styled.connect(lambda r: counted.append(r.comparison.frames) if r.comparison else None)
    qtbot.waitUntil(lambda: bool(counted) and counted[-1] > 5, timeout=10_000)
