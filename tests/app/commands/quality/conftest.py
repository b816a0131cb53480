"""Fixtures shared with the tests of the evaluation."""

from __future__ import annotations

from tests.models.evaluation.conftest import place as place
