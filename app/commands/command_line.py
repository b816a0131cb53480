"""Reconstruction of the command line of a run, for the metadata of its result."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection
from pathlib import Path


def command_line(name: str, args: argparse.Namespace, not_recorded: Collection[str]) -> str:
    """Return the command line that repeats a run, without folders, for privacy.

    Defaults come from the attribute `parser` of the arguments.
    """
    words = ["styleforge", name]
    for argument, value in vars(args).items():
        empty = value is None or value == []  # for example of the window's options
        if argument in not_recorded or empty or value == args.parser.get_default(argument):
            continue
        words.append(f"--{argument.replace('_', '-')}")
        if isinstance(value, Path):
            words.append(_short_path(value))
        elif isinstance(value, tuple):
            words.append(",".join(f"{part:g}" for part in value))
        elif value is not True:
            words.append(str(value))
    return shlex.join(words)


def _short_path(path: Path) -> str:
    """Return the file name; for the weights of a pack, also the pack's name."""
    in_pack = (path.parent / "style.toml").is_file()
    return f"{path.parent.name}/{path.name}" if in_pack else path.name
