"""Applies a mutant to a copy of the tree and reports whether its tests notice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIME_LIMIT_S = 120.0  # per mutant; its tests take a few seconds

KILLED, SURVIVED = "killed", "SURVIVED"
_PASSED, _FAILED = 0, 1  # pytest's exit statuses; any other means that it could not run


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that tests must catch: `old`, which occurs once in `file`, replaced by `new`.

    `name` describes the fault in words; `tests` are pytest node ids, at least one of which must
    fail. `breaks` names the rows of tables whose promise the fault breaks: classes of `ADVICE`,
    targets of `tests/fuzz`, which are the kinds of files that the program reads, or pages of
    `docs`.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    breaks: tuple[str, ...] = ()

    def fault(self, root: Path) -> str:
        """Return why it cannot be applied to the tree at `root`; "" if it can."""
        path = root / self.file
        if not path.is_file():
            return f"{self.file} does not exist"
        count = path.read_text("utf-8").count(self.old)
        return "" if count == 1 else f"its text occurs {count} times in {self.file}"


def copy_tree(root: Path, target: Path) -> None:
    """Copy tracked files, and new files that git does not ignore, from `root` to `target`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in os.fsdecode(listed.stdout).split("\0"):
        if name and (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, target / name)


def run_tests(tree: Path, tests: Iterable[str], limit_s: float) -> tuple[int | None, str]:
    """Run tests in `tree` and return pytest's exit status, None after a timeout, and its output."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "full or not full"]  # whatever the daily suite leaves out
    environment = os.environ | {"PYTHONPATH": str(tree)}  # for child processes of tests
    try:
        done = subprocess.run(
            [*command, *dict.fromkeys(tests)],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def verdict(mutant: Mutant, tree: Path, limit_s: float = TIME_LIMIT_S) -> str:
    """Return KILLED, SURVIVED, or why neither applies. `tree` is a copy and stays unchanged."""
    if fault := mutant.fault(tree):
        return f"does not apply: {fault}"
    path = tree / mutant.file
    before = path.read_text("utf-8")
    path.write_text(before.replace(mutant.old, mutant.new), "utf-8")
    try:
        status, output = run_tests(tree, mutant.tests, limit_s)
    finally:
        path.write_text(before, "utf-8")
    if status is None:
        return f"no result within {limit_s:g} s"
    if status not in (_PASSED, _FAILED):
        last = (output.strip().splitlines() or ["no output"])[-1]
        return f"pytest ended with status {status}: {last}"
    return SURVIVED if status == _PASSED else KILLED
