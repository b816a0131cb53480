"""`cases` yields exactly the cases that pytest would run."""

from __future__ import annotations

import pytest

from tests.helpers.cases import cases


@pytest.mark.parametrize("x", ["a", pytest.param("b", marks=pytest.mark.full)])
@pytest.mark.parametrize(("y", "z"), [(1, 2), pytest.param(3, 4, id="later")])
def decorated(x, y, z):
    """Serve as a parametrized test; its name keeps pytest from collecting it."""


def test_the_cases_are_all_combinations():
    expected = [{"x": x, "y": y, "z": y + 1} for x in "ab" for y in (1, 3)]
    found = list(cases(decorated))
    assert len(found) == len(expected)
    assert all(case in found for case in expected)
    assert list(cases(lambda: None)) == [{}]
