"""Kills at a few of the moments that tests.stress.kill_training tries by the dozen."""

from __future__ import annotations

import pytest

from tests.stress.kill_training import run


@pytest.mark.full
@pytest.mark.timeout(400)  # for half a dozen processes, each of which imports PyTorch
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_never_was() -> None:
    report = run(seed=4, rounds=4)
    assert report.faults == []
    assert report.kills.total() == 4
    assert report.finished >= 1
    assert report.recovered_steps > 0
