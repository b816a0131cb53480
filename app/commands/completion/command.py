"""`styleforge completion`: scripts with which shells complete commands, flags and values."""

from __future__ import annotations

import argparse
import sys

from app.commands.completion.bash import bash_script
from app.commands.completion.fish import fish_script
from app.commands.completion.zsh import zsh_script
from app.commands.parser_tree import Command
from app.exit_status import DONE
from app.styles.catalog import Catalog

SHELLS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
STYLES = ("KEY", "STYLE")  # metavar of a value that is the key of a style


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "completion",
        help="print a script that completes commands and flags in a shell",
        description="Print a script that completes commands, flags and their values, including "
        'the styles installed now. For bash, put eval "$(styleforge completion '
        'bash)" into ~/.bashrc; for zsh, write it to a file _styleforge in a folder '
        "of $fpath; for fish, to ~/.config/fish/completions/styleforge.fish. The "
        "script calls no Python.",
    )
    parser.add_argument("shell", choices=list(SHELLS), help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script for the program; `args.program` is the parser of all commands."""
    keys = [style.key for style in Catalog.default().styles]
    known: dict[str, list[str]] = dict.fromkeys(STYLES, keys)
    sys.stdout.write(SHELLS[args.shell](Command((), "", args.program), known))
    return DONE
