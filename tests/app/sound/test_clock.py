"""The clock of a film follows a device slowly, but a gap at once."""

from __future__ import annotations

import pytest

from app.sound.clock import GAIN, PlaybackClock


@pytest.mark.parametrize(("late_s", "followed_s"), [(0.04, 0.04 * GAIN), (0.06, 0.06)])
def test_a_small_error_is_followed_slowly_and_a_gap_at_once(late_s, followed_s):
    clock = PlaybackClock()
    clock.start(0.0, 100.0)
    clock.correct(2.0, 102.0 + late_s)
    assert clock.when(0.0) == pytest.approx(100.0 + followed_s)
