"""The daily part of a matrix of tests contains every two values."""

from __future__ import annotations

import itertools

from tests.helpers.daily import combinations, matrix, some_daily

TABLE = {"dtype": ["fp16", "bf16", "fp32"], "h, w": [(1, 2), (3, 4)], "relu": [False, True]}


def daily(cases):
    return [case.values for case in cases if not case.marks]


def test_every_two_values_meet_in_a_daily_case():
    chosen = daily(matrix(TABLE).args[1])
    rows = [(dtype, (h, w), relu) for dtype, h, w, relu in chosen]
    for one, other in itertools.combinations(range(3), 2):
        met = {(row[one], row[other]) for row in rows}
        columns = list(TABLE.values())
        assert met == set(itertools.product(columns[one], columns[other]))
    assert len(rows) < 12


def test_each_value_is_in_a_daily_case_of_a_smaller_part():
    chosen = daily(matrix(TABLE, meeting=1).args[1])
    rows = [(dtype, (h, w), relu) for dtype, h, w, relu in chosen]
    assert len(rows) == 3
    for number, values in enumerate(TABLE.values()):
        assert {row[number] for row in rows} == set(values)


def test_no_daily_case_has_a_value_that_another_test_has():
    cases = matrix(TABLE, later=["bf16", (1, 2)]).args[1]
    rows = {case.values for case in cases if not case.marks}
    assert {row[:1] for row in rows} == {("fp16",), ("fp32",)}
    assert {row[1:3] for row in rows} == {(3, 4)}
    assert {row[3] for row in rows} == {False, True}
    assert len(cases) == 12


def test_every_combination_is_there_once():
    names, cases = matrix(TABLE).args
    assert names == "dtype, h, w, relu"
    assert len({case.values for case in cases}) == 12
    assert [case.values for case in cases] == [tuple(row.values()) for row in combinations(TABLE)]


def test_all_but_the_named_cases_are_full():
    cases = some_daily(["a", ("b", 1), "c"], 0, 1)
    assert daily(cases) == [("a",), ("b", 1)]
    assert [case.values for case in cases] == [("a",), ("b", 1), ("c",)]
