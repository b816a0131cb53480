"""The tests of the command stand on what those of the evaluation stand on."""

from __future__ import annotations

from tests.models.evaluation.conftest import place as place
