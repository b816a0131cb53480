"""`python -m kernel_fusion convert` converts models of other libraries by name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.operations import command as bench
from kernel_fusion.auto_convert import command as convert


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, by default the process's, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m kernel_fusion", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    bench.add_parser(commands)
    convert.add_parser(commands)
    given = parser.parse_args(argv)
    return given.run(given)


if __name__ == "__main__":
    sys.exit(main())
