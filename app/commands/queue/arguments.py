"""The `stylize` arguments of a job: stored as words, and parsed again when the job runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from app.batch.jobs.inputs import STDIN, listed_paths
from app.batch.queue.job import QueueError
from app.batch.style_choice import StyleImage
from app.commands.stylize.flags import add_inputs, add_look
from utils.stroke_directions import are_handles, format_handles


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise QueueError instead of ending the program."""
        raise QueueError(f"this version of StyleForge does not understand the job: {message}")


def job_words(args: argparse.Namespace, inputs: Sequence[str]) -> list[str]:
    """Convert arguments to words that `job_arguments` can parse, wherever the job runs.

    Args:
        inputs: Pictures, films, folders and patterns; "-" for a list on stdin, which is read now.

    Raises:
        QueueError: If the list on stdin names no files.
    """
    words: list[str] = []
    for action in _parser()._actions:
        value = getattr(args, action.dest, action.default)
        if not action.option_strings or value == action.default:
            continue
        flag = max(action.option_strings, key=len)
        if isinstance(action, argparse.BooleanOptionalAction):
            words.append(flag if value else flag.replace("--", "--no-", 1))
        elif action.nargs == 0:
            words.append(flag)
        else:
            # Each value gets its own flag. "=" keeps a value that begins with "-" with its flag.
            values = value if isinstance(value, list) else [value]
            words += [f"{flag}={_text(each)}" for each in values]
    return [*words, "--", *_absolute(inputs)]


def job_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of a job.

    Raises:
        QueueError: If another version wrote them.
    """
    return _parser().parse_args(words)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="styleforge queue", add_help=False)
    add_inputs(parser)
    add_look(parser)
    parser.set_defaults(shard=None, cluster=None, manifest=None, dry_run=False)
    return parser


def _absolute(inputs: Sequence[str]) -> list[str]:
    paths: list[str] = []
    for text in inputs:
        if text != STDIN:
            paths.append(os.path.abspath(Path(text).expanduser()) if text else text)  # noqa: PTH100
            continue
        problems: list[str] = []
        paths += (str(path.absolute()) for path in listed_paths(problems))
        if problems:
            raise QueueError(problems[0])
    return paths


def _text(value: Any) -> str:
    """Return the text that a flag parses to the value."""
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, StyleImage):
        share = "" if value.share is None else f":{value.share}"
        return f"{value.path.absolute()}{share}"
    if are_handles(value):
        return format_handles(value)
    if isinstance(value, tuple):  # a value of --mix
        key, share = value
        return key if share is None else f"{key}:{share}"
    return str(value)
