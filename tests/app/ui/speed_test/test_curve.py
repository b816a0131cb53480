"""The curve keeps the last 30 seconds of one comparison, and says them in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.result import LEAST_TIMED, Comparison, LatencyStats
from app.frame import Frame
from app.ui.speed_test.curve import SHOWN_S, SpeedCurve, grid_step
from models.precision import Precision
from tests.helpers.errors import mentions

FRAME = Frame(np.zeros((2, 2, 3), np.uint8))
COMPARISON = Comparison(
    FRAME, FRAME, "Fused", LatencyStats(80.0, 90.0), LatencyStats(40.0, 50.0), 0.0, 90.0, "", True,
    5, (64, 32), Precision.fp32, frame_ms=(80.0, 40.0),
)  # fmt: skip


@pytest.fixture
def now() -> list[float]:
    return [100.0]


@pytest.fixture
def curve(qtbot, now) -> SpeedCurve:
    curve = SpeedCurve(clock=lambda: now[0])
    qtbot.addWidget(curve)
    return curve


def test_each_frame_is_a_point_until_it_is_too_old(curve, now):
    curve.add(COMPARISON)
    now[0] += SHOWN_S - 1
    curve.add(replace(COMPARISON, frame_ms=(70.0, 30.0)))
    assert [(p.baseline_ms, p.fused_ms) for p in curve.points] == [(80.0, 40.0), (70.0, 30.0)]
    now[0] += 2
    curve.add(COMPARISON)
    assert [p.at for p in curve.points] == [100.0 + SHOWN_S - 1, 100.0 + SHOWN_S + 1]


def test_the_first_frame_warms_up_and_is_no_point(curve):
    curve.add(replace(COMPARISON, frames=0))
    assert curve.points == ()


@pytest.mark.parametrize(
    "changed",
    [{"size": (128, 64)}, {"precision": Precision.fp16}, {"fused_title": "OpenVINO CPU"}],
    ids=lambda changed: next(iter(changed)),
)
def test_other_conditions_begin_another_curve(curve, changed):
    curve.add(COMPARISON)
    curve.add(replace(COMPARISON, **changed))
    assert len(curve.points) == 1


def test_a_screen_reader_hears_both_medians_with_their_unit(curve):
    empty = curve.accessibleDescription()
    assert empty
    for _ in range(LEAST_TIMED - 1):
        curve.add(COMPARISON)
    curve._refresh()
    assert curve.accessibleDescription() == empty
    curve.add(COMPARISON)
    curve._refresh()
    said = curve.accessibleDescription()
    assert mentions(said, "Plain PyTorch", "80.0 ms", "StyleForge", "40.0 ms")


def test_the_curve_paints_with_and_without_points(curve):
    curve.resize(400, 160)
    empty = curve.grab().toImage()
    curve.add(COMPARISON)
    assert curve.grab().toImage() != empty


@pytest.mark.parametrize(
    ("top", "step"), [(0.0, 1.0), (0.5, 0.2), (3.0, 1.0), (90.0, 50.0), (5800.0, 2000.0)]
)
def test_grid_lines_have_round_numbers(top, step):
    assert grid_step(top) == pytest.approx(step)
