"""Parameters of which only a few are tried daily, and all by `make test-full`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def some_daily(cases: Iterable[Any], *daily: int) -> list[ParameterSet]:
    """Mark all cases as full except those at the indexes `daily`; a tuple is several arguments."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if number in daily else pytest.mark.full,
        )
        for number, case in enumerate(cases)
    ]
