"""The commands and flags of an argparse parser, for texts generated from them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Values with these names are files; so are values parsed as paths.
_FILES = ("FILE", "PATH", "INPUT", "PICTURE", "PICTURE[:SHARE]", "FOLDER", "OUT", "SPEC")


@dataclass(frozen=True, slots=True)
class Command:
    """The program itself, a command, or an action of a command.

    Attributes:
        path: Its words: () for the program, ("queue", "add").
    """

    path: tuple[str, ...]
    summary: str
    parser: argparse.ArgumentParser

    @property
    def arguments(self) -> list[argparse.Action]:
        """The command's flags and positional arguments in the order of the help; no subcommands."""
        return [
            action
            for action in self.parser._actions
            if action.help != argparse.SUPPRESS
            and not isinstance(action, argparse._SubParsersAction)
        ]

    @property
    def below(self) -> list[Command]:
        """The commands of the program, or the actions of a command."""
        return [
            Command((*self.path, name.dest), name.help or "", action.choices[name.dest])
            for action in self.parser._actions
            if isinstance(action, argparse._SubParsersAction)
            for name in action._choices_actions
        ]

    @property
    def at(self) -> str:
        """The words of the command, each after a space, as the scripts of shells track them."""
        return "".join(f" {word}" for word in self.path)

    def walk(self) -> Iterator[Command]:
        yield self
        for command in self.below:
            yield from command.walk()


def help_of(command: Command, action: argparse.Action) -> str:
    return command.parser._get_formatter()._expand_help(action) if action.help else ""


def takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0


def is_file(action: argparse.Action) -> bool:
    return action.type is Path or action.metavar in _FILES


def words_of(action: argparse.Action, known: dict[str, list[str]]) -> list[str]:
    """Return the values of a flag if it has few; `known` lists some by metavar."""
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    return known.get(str(action.metavar), [])
