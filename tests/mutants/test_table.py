"""The table of mutants fits the current program, and a survivor is reported."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from app.errors import ADVICE
from tests.fuzz.targets import TARGETS
from tests.fuzz.targets.scripts import Script
from tests.mutants.__main__ import main
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.table import MUTANTS

NATIVE = ".cpp", ".h", ".cu", ".cuh"  # compiled by their tests
PAGE = ".css", ".js"  # read by a browser


# Numbers that pages measured, or say of the shape of a layer.
MEASURED = {
    "docs/decisions/age-of-a-picture.md",
    "docs/explanation/performance.md",
    "docs/explanation/styles.md",
    "docs/how-to/prints.md",
    "docs/reference/kernel_fusion/modules.md",
}
BOUND = re.compile(r"\bat (most|least) (\d|(one|two|three|four|five|eight|ten)\b)")


def kinds_of_files() -> set[str]:
    """Return the names of the targets of fuzzing, without its scripts."""
    return {target.name for target in TARGETS if not isinstance(target, Script)}


def named(text: str) -> Mutant:
    (mutant,) = (mutant for mutant in MUTANTS if text in mutant.name)
    return mutant


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


# One test for the mutants of each file: a thousand tests of a few milliseconds take much longer.
@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_mutants_of_a_file_apply_and_their_tests_exist(file):
    assert file.endswith((".py", *NATIVE, *PAGE))
    before = (ROOT / file).read_text("utf-8")
    for mutant in (mutant for mutant in MUTANTS if mutant.file == file):
        assert mutant.fault(ROOT) == "", mutant.name
        assert mutant.new != mutant.old, mutant.name
        if file.endswith(".py"):
            ast.parse(before.replace(mutant.old, mutant.new), mutant.name)
        assert mutant.tests, mutant.name
        for test in mutant.tests:
            path, _, name = test.partition("::")
            assert not name or name.partition("[")[0] in functions_of(path), mutant.name


def test_no_two_mutants_have_one_name():
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1


def broken() -> frozenset[str]:
    """Return the rows of other tables whose promise a mutant breaks."""
    return frozenset(row for mutant in MUTANTS for row in mutant.breaks)


def stated_bounds() -> set[str]:
    """Return the pages with a number as a bound, without those that only report measurements."""
    pages = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if BOUND.search(path.read_text("utf-8"))
    }
    return pages - MEASURED


def test_every_error_with_advice_has_a_mutant():
    assert set(ADVICE) - broken() == set()


def test_every_kind_of_file_that_is_read_has_a_mutant():
    assert kinds_of_files() - broken() == set()


def test_every_page_that_states_a_bound_has_a_mutant():
    assert len(stated_bounds()) > 10
    assert stated_bounds() - broken() == set()


def test_a_mutant_breaks_rows_that_exist():
    pages = {row for row in broken() if row.endswith(".md")}
    assert broken() - pages - kinds_of_files() - set(ADVICE) == set()
    assert [page for page in pages if not (ROOT / page).is_file()] == []


@pytest.mark.full
def test_a_killed_mutant_a_survivor_and_one_that_does_not_apply_are_told_apart(capsys):
    killed = named("one bad value in the settings file costs them all")
    survivor = replace(
        killed,
        name="a survivor",
        tests=("tests/app/test_settings.py::test_every_default_is_valid",),
    )
    outdated = replace(killed, name="outdated", old="what nobody wrote")
    assert main([], [killed, survivor, outdated]) == 1
    *lines, total = capsys.readouterr().out.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == [
        "killed",
        "SURVIVED",
        f"its text occurs 0 times in {killed.file}",
    ]
    assert total == "1 of 3 mutants were killed"
    assert Path(ROOT / killed.file).read_text("utf-8").count(killed.old) == 1


@pytest.mark.full
def test_a_test_that_fails_anyway_kills_nothing(capsys, monkeypatch):
    mutant = replace(named("one bad value in the settings"), tests=("tests/no_such_test.py",))
    assert main(["--only", "one bad value"], [mutant]) == 1
    assert "do not pass on the unchanged tree" in capsys.readouterr().out
