"""Fixtures shared with the tests of the measurements."""

from __future__ import annotations

from tests.benchmarks.quality.conftest import place as place
from tests.benchmarks.quality.conftest import written_place as written_place
