"""`styleforge man`: the manual page, generated from the texts of `--help`."""

from __future__ import annotations

import argparse
import sys

from app.commands.man.page import manual_page
from app.commands.parser_tree import Command
from app.exit_status import DONE
from app.version import styleforge_version


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    subparsers.add_parser(
        "man",
        help="print the manual page",
        description="Print the manual page with every command and flag. Read it with: styleforge "
        "man | man -l -, or write it to ~/.local/share/man/man1/styleforge.1.",
    )


def run(args: argparse.Namespace) -> int:
    """Print the page of the program; `args.program` is the parser of all commands."""
    sys.stdout.write(manual_page(Command((), "", args.program), styleforge_version()))
    return DONE
