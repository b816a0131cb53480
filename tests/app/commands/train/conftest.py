"""Fixtures shared with the tests of training."""

from __future__ import annotations

from tests.models.training.conftest import features as features
from tests.models.training.conftest import folder as folder
from tests.models.training.conftest import style_file as style_file
from tests.models.training.conftest import thrifty as thrifty
