"""The cases of a parametrized test, for a test that needs all of them to have run.

If tests are spread over processes, each process sees only some of a module's cases.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest


def cases(test: Callable[..., object]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each case of a test that `pytest.mark.parametrize` decorates."""
    tables: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", []):
        names, values = mark.args[:2]
        listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        rows = [_row(value, alone=len(listed) == 1) for value in values]
        tables.append([dict(zip(listed, row, strict=True)) for row in rows])
    for parts in itertools.product(*tables):
        yield {name: value for part in parts for name, value in part.items()}


def _row(value: Any, *, alone: bool) -> Sequence[Any]:
    if isinstance(value, type(pytest.param())):
        return value.values
    return (value,) if alone else value
