"""The page of the command line names exactly the program's commands and flags."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app import cli
from app.batch.jobs.naming import FIELDS
from app.commands.camera.reporters import EVENTS as CAMERA_EVENTS
from app.commands.completion.command import SHELLS
from app.commands.parser_tree import Command
from app.commands.stylize.reporters import EVENTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text("utf-8")


def rows(head: str) -> dict[str, str]:
    """Return the table with this heading: its second column by its first."""
    table = PAGE.partition(f"\n{head}")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `([^|`]+)` \| (.+) \|$", table, re.MULTILINE))


def program() -> Command:
    return Command((), "", cli._parser("man"))


@pytest.mark.parametrize(
    ("head", "events"), [("| `event` |", EVENTS), ("| `event` of `camera` |", CAMERA_EVENTS)]
)
def test_every_event_is_described_with_its_keys(head, events):
    described = rows(head)
    assert list(described) == list(events)
    for event, text in described.items():
        assert re.findall(r"`(\w+)`", text) == list(events[event])


def test_every_field_of_a_name_is_described():
    assert list(rows("| field |")) == [f"{{{name}}}" for name in FIELDS]


def test_every_action_of_the_queue_is_described():
    queue = next(command for command in program().walk() if command.path == ("queue",))
    assert list(rows("| action |")) == [action.path[-1] for action in queue.below]


def test_every_shell_is_described():
    assert re.findall(r"^\| (\w+) \| .*styleforge completion \1", PAGE, re.MULTILINE) == [*SHELLS]


def test_the_examples_name_commands_and_flags_that_there_are():
    known = {command.path: command for command in program().walk()}
    lines = [
        line
        for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
        for line in re.findall(r"styleforge [^|\n]*", block)
    ]
    assert len(lines) > 20
    for line in lines:
        words = line.split()[1:]
        path = tuple(words[:2]) if tuple(words[:2]) in known else tuple(words[:1])
        flags = {flag for action in known[path].arguments for flag in action.option_strings}
        assert not [
            word for word in words if word.startswith("-") and word != "-" and word not in flags
        ], line
