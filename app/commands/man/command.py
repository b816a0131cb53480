"""`styleforge man`: the manual page, made of what `--help` says."""

from __future__ import annotations

import argparse
import sys

from app.commands.man.page import manual_page
from app.commands.parser_tree import Command
from app.exit_status import DONE
from app.version import styleforge_version


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command `man`."""
    subparsers.add_parser(
        "man",
        help="print the manual page",
        description="Print the manual page, with every command and flag, for man: styleforge man | "
        "man -l -, or into ~/.local/share/man/man1/styleforge.1.",
    )


def run(args: argparse.Namespace) -> int:
    """Print the page of the program, whose parser of everything is `args.program`."""
    sys.stdout.write(manual_page(Command((), "", args.program), styleforge_version()))
    return DONE
