"""`python -m tests.mutants`: applies the mutants one at a time and reports which survive.

First the named tests run on the unchanged tree: a test that fails anyway kills nothing. The exit
status is 1 unless every mutant was killed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants.mutant import KILLED, ROOT, TIME_LIMIT_S, Mutant, copy_tree, run_tests, verdict
from tests.mutants.table import MUTANTS


def main(arguments: Sequence[str] | None = None, mutants: Iterable[Mutant] = MUTANTS) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="those whose name or file contains NAME")
    parser.add_argument("--seconds", type=float, default=TIME_LIMIT_S, help="limit of each mutant")
    args = parser.parse_args(arguments)
    chosen = [m for m in mutants if args.only is None or args.only in f"{m.name} {m.file}"]
    if not chosen:
        parser.error(f"no mutant is called '{args.only}'")
    with tempfile.TemporaryDirectory(prefix="styleforge-mutants-") as folder:
        tree = Path(folder).resolve()
        copy_tree(ROOT, tree)
        every = [test for mutant in chosen for test in mutant.tests]
        status, output = run_tests(tree, every, args.seconds * len(chosen))
        if status != 0:
            sys.stdout.write(f"{output}\nThe tests do not pass on the unchanged tree.\n")
            return 1
        failed = 0
        for mutant in chosen:
            begun = time.perf_counter()
            result = verdict(mutant, tree, args.seconds)
            spent = time.perf_counter() - begun
            failed += result != KILLED
            sys.stdout.write(f"{spent:5.1f} s  {mutant.file}: {mutant.name}: {result}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - failed} of {len(chosen)} mutants were killed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
