"""Closing the window during a recording loses nothing, in one round.

`python -m tests.stress.close_while_running` closes it during every kind of work, twenty times.
"""

from __future__ import annotations

import pytest

from tests.stress.close_while_running import run


@pytest.mark.full
@pytest.mark.timeout(300)
def test_closing_during_a_recording_ends_with_status_0_and_loses_nothing(native_kernels):
    report = run(3, 1, ["recording"])
    assert not report.faults, report
    assert report.closed == {"recording": 1}
