"""`make quick` chooses the tests that notice a change, within its limit of time."""

from __future__ import annotations

import json
import random

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS
from tools import quick

SEED = 49
COUNT = 20


@pytest.fixture(scope="module")
def graph():
    return quick.graph()


@pytest.fixture(scope="module")
def seconds():
    return json.loads(quick.SECONDS.read_text("utf-8"))


def drawn(mutant: Mutant) -> float:
    """Return a random number that other mutants in the table do not change."""
    return random.Random(f"{SEED} {mutant.name}").random()


@pytest.mark.parametrize(
    "mutant", sorted(MUTANTS, key=drawn)[:COUNT], ids=lambda mutant: mutant.name
)
def test_a_test_that_kills_the_mutant_is_chosen(mutant: Mutant, graph, seconds):
    killing = {test.partition("::")[0] for test in mutant.tests}
    assert killing & set(quick.chosen(graph, [mutant.file], seconds))


@pytest.mark.parametrize(
    "file",
    [
        "app/engine/resolution.py",
        "kernels/ops/general/elementwise/elementwise.cpp",
        "kernel_fusion/optim.py",
        "models/checkpoints.py",
        "utils/files/atomic.py",
        "docs/reference/manual.md",
    ],
)
def test_the_choice_for_one_file_keeps_to_the_limit(file: str, graph, seconds):
    tests = quick.chosen(graph, [file], seconds)
    assert tests
    spent = sum(seconds.get(path, quick.NEW_MODULE_S) for path in tests)
    assert round(spent, 1) <= quick.BUDGET_S


def test_a_changed_test_is_chosen_itself(graph, seconds):
    assert "tests/tools/test_quick.py" in quick.chosen(
        graph, ["tests/tools/test_quick.py"], seconds
    )


def test_a_fixture_leads_to_the_tests_below_its_conftest(graph, seconds):
    found = quick.ranked(graph, "tests/app/server/conftest.py", seconds)
    assert "tests/app/server/test_access.py" in found


def test_seconds_are_added_up_by_module(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.tools.test_quick" name="a" time="1.25"/>
        <testcase classname="tests.tools.test_quick.TestOfNone" name="b" time="0.5"/>
        <testcase classname="tests.test_architecture" name="c" time="2"/>
        </testsuite></testsuites>""",
        "utf-8",
    )
    assert quick.seconds_of(report) == {
        "tests/test_architecture.py": 2.0,
        "tests/tools/test_quick.py": 1.8,
    }
