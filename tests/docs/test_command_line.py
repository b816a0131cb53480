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

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "reference" / "command-line.md").read_text("utf-8")
EXAMPLE = re.DOTALL | re.MULTILINE


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


def commands(page: Path) -> list[str]:
    """Return the lines of shell examples that call the program, with continued lines joined."""
    return [
        line
        for block in re.findall(r"^ *```sh\n(.*?)^ *```", page.read_text("utf-8"), EXAMPLE)
        for line in re.findall(r"styleforge (?!\|)[^|\n#]*", re.sub(r"\\\n\s*", "", block))
    ]


PAGES = [page for page in (ROOT / "README.md", *DOCS.rglob("*.md")) if commands(page)]


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.stem)
def test_the_examples_name_commands_and_flags_that_there_are(page):
    known = {command.path: command for command in program().walk()}
    for line in commands(page):
        words = line.split()[1:]
        depth = next(depth for depth in (2, 1, 0) if tuple(words[:depth]) in known)
        flags = {
            flag
            for action in known[tuple(words[:depth])].arguments
            for flag in action.option_strings
        }
        used = [word for word in words if word.startswith("-") and word != "-"]
        assert not [flag for flag in used if flag not in flags], line
        assert depth or not words or words[0].startswith("-"), f"an unknown command: {line}"


def test_many_pages_have_examples():
    assert len(PAGES) > 12
    assert len(commands(DOCS / "reference" / "command-line.md")) > 20
