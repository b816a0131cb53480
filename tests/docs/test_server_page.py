"""The page of the server names exactly its routes, options and limits."""

from __future__ import annotations

import re
from pathlib import Path

from app import cli
from app.commands.parser_tree import Command
from app.server.application import application
from app.server.jobs import MOST_KEPT, Jobs
from app.server.limits import Limits
from app.server.line import Line
from app.server.look import OPTIONS
from app.server.studio import Studio
from tests.app.server.conftest import PaperPainter
from tests.helpers.there import there

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "serve.md").read_text("utf-8")


def test_every_route_has_a_row_and_every_row_a_route(catalog, tmp_path):
    painter, line = PaperPainter(catalog), Line(1)
    studio = Studio(painter, line, Jobs(tmp_path, painter, line), Limits(), tmp_path)
    described = application(studio).openapi()["paths"]
    line.close()
    routes = {f"{verb.upper()} {path}" for path, verbs in described.items() for verb in verbs}
    assert set(re.findall(r"^\| `([A-Z]+ /[^`]+)` \|", PAGE, re.MULTILINE)) == routes


def test_every_option_is_named():
    listed = there(re.search(r"from the same table: ([^.]+)\.", PAGE))[1]
    assert {*re.findall(r"`(\w+)`", listed), "format"} == set(OPTIONS)


def test_every_limit_has_a_row():
    program = Command((), "", cli._parser("man"))
    serve = next(command for command in program.walk() if command.path == ("serve",))
    flags = [flag for action in serve.arguments for flag in action.option_strings]
    rows = re.findall(r"^\| `(--max-[a-z]+)` \|", PAGE, re.MULTILINE)
    assert rows == [flag for flag in flags if flag.startswith("--max-")]
    assert set(re.findall(r"--[a-z][a-z-]+(?= |`)", PAGE)) - {"--data-binary"} <= set(flags)
    assert f"The {MOST_KEPT} jobs that ended last are kept" in PAGE
