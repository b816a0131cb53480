"""`styleforge man`: the manual page, generated from the texts of `--help`, in man(7)'s macros."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from app.commands.parser_tree import Command, help_of, takes_value
from app.exit_status import DONE, EXIT_STATUSES
from app.version import styleforge_version
from utils.text import capitalized


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


def manual_page(program: Command, version: str) -> str:
    name = program.parser.prog
    lines = [
        f'.TH {_text(name).upper()} 1 "" "{_text(f"StyleForge {version}")}" "User Commands"',
        ".ad l",  # long lists of choices leave nothing to stretch
        ".SH NAME",
        rf"{_text(name)} \- {_text((program.parser.description or '').partition('.')[0])}",
        ".SH SYNOPSIS",
        *_usage(program),
        ".SH DESCRIPTION",
        _text(program.parser.description or ""),
        ".SH OPTIONS",
        *_arguments(program),
        ".SH COMMANDS",
    ]
    for command in list(program.walk())[1:]:
        lines += [f".SS {_text(' '.join(command.path))}"]
        lines += [_text(command.parser.description or _sentence(command.summary)), ".PP"]
        lines += [*_usage(command), *_arguments(command)]
    lines.append(".SH EXIT STATUS")
    for status, meaning in EXIT_STATUSES.items():
        lines += [".TP", rf"\fB{status}\fR", _text(_sentence(meaning))]
    lines += [
        ".SH ENVIRONMENT",
        ".TP",
        r"\fBNO_COLOR\fR",
        _text("If set, the output has no colors."),
    ]
    return "\n".join(lines) + "\n"


def _usage(command: Command) -> Iterator[str]:
    usage = command.parser.format_usage().removeprefix("usage: ")
    yield _text(re.sub(r"\s+", " ", usage).strip())


def _arguments(command: Command) -> Iterator[str]:
    for action in command.arguments:
        yield ".TP"
        value = _value(command.parser, action)
        if not action.option_strings:
            yield rf"\fI{_text(value)}\fR"
        else:
            names = ", ".join(rf"\fB{_text(name)}\fR" for name in action.option_strings)
            yield rf"{names} \fI{_text(value)}\fR" if takes_value(action) else names
        yield _text(help_of(command, action))


def _value(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser._get_formatter()
    if action.option_strings:
        default = formatter._get_default_metavar_for_optional(action)
    else:
        default = formatter._get_default_metavar_for_positional(action)
    return formatter._format_args(action, default)


def _sentence(text: str) -> str:
    return f"{capitalized(text)}." if text else ""


def _text(text: str) -> str:
    """Escape text that roff would read as a request, an escape or a hyphen."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = re.sub(r",(?=\S)", r",\\:", text)  # a long list of choices may break there
    return rf"\&{text}" if text.startswith((".", "'")) else text
