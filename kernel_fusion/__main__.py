"""The command line of the library: `python -m kernel_fusion COMMAND`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kernel_fusion import bench
from kernel_fusion.auto_convert import command as convert

COMMANDS = {"bench": bench, "convert": convert}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m kernel_fusion", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        help_text = (module.__doc__ or "").splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=help_text, description=help_text))
    found = parser.parse_args(arguments)
    return COMMANDS[found.command].run(found)


if __name__ == "__main__":
    sys.exit(main())
