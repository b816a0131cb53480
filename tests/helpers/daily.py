"""Parameters of which a few are tried daily, and all by `make test-full`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest


def some_daily(cases: Iterable[Any], *daily: int) -> list[Any]:
    """Mark all cases as full except those at the indexes `daily`; a tuple is several arguments."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if number in daily else pytest.mark.full,
        )
        for number, case in enumerate(cases)
    ]


def _name(value: Any) -> str:
    return getattr(value, "name", getattr(value, "__name__", str(value)))


def matrix(
    table: Mapping[str, Iterable[Any]], *, meeting: int = 2, later: Collection[Any] = ()
) -> pytest.MarkDecorator:
    """Parametrize a test with every combination.

    Args:
        table: The values of each argument, or the tuples of several arguments, "height, width".
        meeting: How many values of the arguments, any ones, meet in one of the daily combinations:
            every two, or with 1 each value alone. What remains to be chosen is the first value of
            an argument, so the fastest one belongs there.
        later: Values, or tuples of them, that no daily combination has: another test has them.
    """
    columns = [
        [number for number, value in enumerate(values) if value not in later]
        for values in table.values()
    ]
    daily = {
        tuple(column[number] for column, number in zip(columns, row, strict=True))
        for row in _meeting(tuple(map(len, columns)), meeting)
    }
    rows = [
        pytest.param(*row.values(), marks=[] if numbers in daily else pytest.mark.full)
        for numbers, row in _rows(table)
    ]
    return pytest.mark.parametrize(", ".join(table), rows, ids=_name)


def combinations(table: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of every combination."""
    for _, row in _rows(table):
        yield row


def _rows(
    table: Mapping[str, Iterable[Any]],
) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Yield the numbers of the values of each combination, and its arguments."""
    columns = [[*enumerate(values)] for values in table.values()]
    for chosen in itertools.product(*columns):
        row = {}
        for names, (_, value) in zip(table, chosen, strict=True):
            listed = names.split(", ")
            row |= zip(listed, value if len(listed) > 1 else [value], strict=True)
        yield tuple(number for number, _ in chosen), row


@cache
def _meeting(sizes: tuple[int, ...], count: int) -> frozenset[tuple[int, ...]]:
    """Return a few of the combinations of numbers below `sizes` that have every `count` of them."""
    met: set[tuple[tuple[int, int], ...]] = set()
    taken = set()
    for least in range(math.comb(len(sizes), count), 0, -1):
        for row in itertools.product(*map(range, sizes)):
            groups = set(itertools.combinations(enumerate(row), count))
            if len(groups - met) >= least:
                met |= groups
                taken.add(row)
    return frozenset(taken)
