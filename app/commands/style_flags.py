"""Flags generated from the table of parameters; imports nothing slow, for every `--help`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from app.commands.argument_types import amount, direction, handles, unit_interval
from app.options import Option, parse_mix
from app.parameters import (
    AUTO,
    PARAMETERS,
    AmountParameter,
    ChoiceParameter,
    DirectionParameter,
    FractionParameter,
    HandlesParameter,
    Parameter,
    Parameters,
)

DEFAULTS = Parameters()


def add_style_options(
    parser: argparse.ArgumentParser, *, kept: bool = False, streams: bool = False
) -> None:
    """Add a flag for every row of the parameter table that has one, and --mix.

    Args:
        kept: Whether flags that are not given are None, so that the stored settings apply.
        streams: Whether to add the flags that concern only streams.
    """
    for name, row in PARAMETERS.items():
        if name == "mix_amount":  # one flag for both the style and its share
            parser.add_argument(
                "--mix",
                action="append",
                type=_mix,
                default=[],
                metavar="KEY:SHARE",
                help="another style to mix in and its share from 0 to 1, such as "
                "starry_night:0.4; up to two, or three if all are styles made from "
                "pictures, each with its own --mix",
            )
        elif row.help and (row.window_flag or not kept) and (streams or not row.of_streams):
            _add(parser, name, row, kept)


def _add(parser: argparse.ArgumentParser, name: str, row: Parameter, kept: bool) -> None:
    flag, what = f"--{name.replace('_', '-')}", name.replace("_", " ")
    default = None if kept else getattr(DEFAULTS, name)
    if isinstance(row, FractionParameter):
        words = "the last value" if kept else f"{default:g}"
        parser.add_argument(
            flag,
            type=lambda text: unit_interval(text, f"the {what}"),
            default=default,
            metavar="0-1",
            help=f"{row.help} (default: {words})",
        )
    elif isinstance(row, AmountParameter):
        words = "the last value" if kept else default
        parser.add_argument(
            flag,
            type=lambda text: amount(text, f"the {what}"),
            default=default,
            metavar=f"{AUTO}|0-1",
            help=f"{row.help} (default: {words})",
        )
    elif isinstance(row, DirectionParameter):
        words = "the last value" if kept else default
        parser.add_argument(
            flag,
            type=lambda text: direction(text, f"the {what}"),
            default=default,
            metavar=f"{AUTO}|none|follow|swirl|hand|ANGLE",
            help=f"{row.help} (default: {words})",
        )
    elif isinstance(row, HandlesParameter):
        words = "the last ones" if kept else "none"
        parser.add_argument(
            flag,
            type=handles,
            default=default,
            metavar="X,Y,ANGLE;...",
            help=f"{row.help} (default: {words})",
        )
    elif isinstance(row, ChoiceParameter):
        words = "the last value" if kept else default
        parser.add_argument(
            flag,
            choices=list(row.options),
            default=default,
            help=f"{row.help} ({_listed(row.options)}; default: {words})",
        )
    else:
        action = "store_true" if default is False else argparse.BooleanOptionalAction
        parser.add_argument(flag, action=action, default=default, help=row.help)


def _listed(options: Mapping[str, Option]) -> str:
    return ", ".join(f"{key}: {_lower(option.remark)}" for key, option in options.items())


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _mix(text: str) -> tuple[str, float | None]:
    try:
        return parse_mix(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
