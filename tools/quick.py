"""`make quick`: runs the tests nearest to what changed, within a limit of time.

A test is near a changed module if few imports lead from the test to the module, and if they share
folders or a name. For other files, `TESTS_OF` names the tests. `tests/seconds.json` holds the
seconds of each test module; `python -m tools.quick --store REPORT` writes it from a report of
`make test ARGS="--junitxml REPORT"`.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree

import grimp

ROOT = Path(__file__).resolve().parents[1]
SECONDS = ROOT / "tests" / "seconds.json"
PACKAGES = (
    *("app", "benchmarks", "kernels", "kernel_fusion", "models", "utils"),
    *("tests", "tools", "wheels"),
)
# 110 seconds on each of two cores; starting and collecting take another 60.
BUDGET_S = 220.0
NEW_MODULE_S = 3.0  # for a test module without a stored time
FAR = 9  # imports, for tests that do not import the changed module
# Tests that run a package by a command, which imports it late, and the imports that this counts as.
BY_COMMAND = {
    "app/__main__.py": "tests/app/commands/test_stylize",
    "app/batch/": "tests/app/commands/test_stylize",
}
LATE = 1
# Files that no module imports, by pattern, and the folders of tests that read them.
TESTS_OF = {
    "kernels/*": ("tests/kernels",),
    "app/server/*": ("tests/app/server",),
    "app/*": ("tests/app", "tests/tools"),
    "assets/translations/*": ("tests/tools", "tests/app/ui/window"),
    "assets/*": ("tests/app/styles", "tests/models"),
    "benchmarks/reports/*": ("tests/docs", "tests/kernels/tuning"),
    "benchmarks/*": ("tests/benchmarks",),
    "docs/*": ("tests/docs", "tests/tools"),
    "examples/*": ("tests/test_examples.py",),
    "*": ("tests/docs", "tests/tools", "tests/wheels", "tests/test_architecture.py"),
}


def name_of(path: str) -> str:
    """Return the module that a path relative to the root holds."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def graph() -> grimp.ImportGraph:
    """Return the imports of all packages; a test imports the conftest modules above it too."""
    found = grimp.build_graph(*PACKAGES, cache_dir=str(ROOT / "build" / "imports"))
    for module in test_modules(found):
        parts = module.split(".")[:-1]
        for depth in range(1, len(parts) + 1):
            conftest = ".".join((*parts[:depth], "conftest"))
            if conftest in found.modules:
                found.add_import(importer=module, imported=conftest)
    return found


def test_modules(found: grimp.ImportGraph) -> list[str]:
    return sorted(m for m in found.modules if m.rsplit(".", 1)[-1].startswith("test_"))


def distances(found: grimp.ImportGraph, module: str) -> dict[str, int]:
    """Return the number of imports that lead from each dependent module to `module`."""
    known, waiting = {module: 0}, deque([module])
    while waiting:
        at = waiting.popleft()
        for importer in found.find_modules_that_directly_import(at) - known.keys():
            known[importer] = known[at] + 1
            waiting.append(importer)
    return known


def ranked(found: grimp.ImportGraph, file: str, seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the test modules that may notice a change of `file`, by rank; low ranks are near."""
    module = name_of(file)
    near = distances(found, module) if file.endswith(".py") and module in found.modules else {}
    folders = next(tests for pattern, tests in TESTS_OF.items() if fnmatch(file, pattern))
    own, stem = Path(file).parts[:-1], Path(file).stem
    ranks = {}
    for test in test_modules(found):
        path = f"{test.replace('.', '/')}.py"
        pairs = zip(own, Path(path).parts[1:-1], strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        shared = common / max(len(own), 1)
        same_name = _is_named_after(Path(path), stem)
        listed = not near and path.startswith(folders)
        late = any(file.startswith(p) and path.startswith(t) for p, t in BY_COMMAND.items())
        related = late or shared >= 0.5 or same_name or listed
        if path != file and test not in near and not related:
            continue
        itself = near.get(test) == 1  # a page's bounds are tested in another folder
        # Twenty seconds weigh as much as one import.
        rank = (LATE if late else near.get(test, FAR)) - 2 * (shared + same_name + itself)
        ranks[path] = rank + seconds.get(path, NEW_MODULE_S) / 20
    return ranks


def _is_named_after(test: Path, stem: str) -> bool:
    """Return whether a test module, or a folder around it, has the name of a changed module.

    A folder of tests with a package of its own is named after that package.
    """
    parts = test.parts
    folders = (
        part
        for depth, part in enumerate(parts[1:-1], 2)
        if not ROOT.joinpath(*parts[1:depth]).is_dir()
    )
    names = (*folders, test.stem)
    return any(stem in name for name in names) or test.stem.removeprefix("test_") in stem


def chosen(
    found: grimp.ImportGraph,
    files: Iterable[str],
    seconds: Mapping[str, float],
    budget_s: float = BUDGET_S,
) -> list[str]:
    """Return the nearest test modules of `files` that together take at most `budget_s` seconds."""
    ranks: dict[str, float] = {}
    for file in files:
        for path, rank in ranked(found, file, seconds).items():
            ranks[path] = min(rank, ranks.get(path, rank))
    taken, left = [], budget_s
    for path in sorted(ranks, key=lambda path: (ranks[path], path)):
        if (cost := seconds.get(path, NEW_MODULE_S)) <= left:
            taken.append(path)
            left -= cost
    return taken


def changed() -> list[str]:
    """Return the files that differ from the last commit; the files of that commit if none does."""

    def lines(*arguments: str) -> list[str]:
        told = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True)
        return told.stdout.decode().splitlines()

    now = lines("diff", "--name-only", "HEAD") + lines("ls-files", "-o", "--exclude-standard")
    return now or lines("diff", "--name-only", "HEAD~1")


def seconds_of(report: Path) -> dict[str, float]:
    """Return the seconds of each test module in a JUnit report."""
    spent: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        parts = case.attrib["classname"].split(".")
        path = next(
            f"{'/'.join(parts[:end])}.py"
            for end in range(len(parts), 0, -1)
            if (ROOT / f"{'/'.join(parts[:end])}.py").is_file()
        )
        spent[path] += float(case.attrib["time"])
    return {path: round(spent[path], 1) for path in sorted(spent)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.quick", description=__doc__)
    parser.add_argument("files", nargs="*", help="the changed files; git lists them by default")
    parser.add_argument("--store", type=Path, metavar="REPORT", help="a JUnit report")
    parser.add_argument("--list", action="store_true", help="print the tests without running them")
    args = parser.parse_args()
    if args.store:
        SECONDS.write_text(json.dumps(seconds_of(args.store), indent=0) + "\n", "utf-8")
        return 0
    seconds = json.loads(SECONDS.read_text("utf-8"))
    found, files = graph(), args.files or changed()
    tests = chosen(found, files, seconds)
    left_out = len(chosen(found, files, seconds, math.inf)) - len(tests)
    expected = sum(seconds.get(path, NEW_MODULE_S) for path in tests)
    sys.stdout.write(
        f"{len(tests)} test modules, {expected:.0f} s on one core; "
        f"{left_out} farther ones are left to make test\n"
    )
    sys.stdout.flush()
    if args.list:
        sys.stdout.writelines(f"{path}\n" for path in tests)
        return 0
    workers = "-n", "logical", "--maxprocesses", "4", "--dist", "worksteal"
    return subprocess.run([sys.executable, "-m", "pytest", *workers, *tests], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
