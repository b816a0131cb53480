"""The manual page and the exit statuses match the program's own description."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app import cli
from app.cli import COMMANDS, main
from app.commands.man.page import manual_page
from app.commands.parser_tree import Command
from app.exit_status import EXIT_STATUSES
from tests.app.commands.test_cli import flags

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def page(capsys) -> str:
    assert main(["man"]) == 0
    return capsys.readouterr().out


def test_every_command_and_flag_has_its_paragraph(page):
    for command in Command((), "", cli._parser("man")).walk():
        if command.path:
            assert f"\n.SS {' '.join(command.path)}\n".replace("-", r"\-") in page
        for action in flags(command.parser):
            for flag in action.option_strings:
                assert rf"\fB{flag}\fR".replace("-", r"\-") in page
    assert all(rf"\fB{status}\fR" in page for status in EXIT_STATUSES)


def test_text_is_no_request_and_no_escape_of_roff():
    parser = cli.ArgumentParser(prog="x", description=".so /etc/passwd")
    parser.add_argument("--path", help=r"'tis C:\new-file, 100 %% of it")
    page = manual_page(Command((), "", parser), "1")
    assert "\n\\&.so /etc/passwd\n" in page
    assert "\n\\&'tis C:\\enew\\-file, 100 % of it\n" in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_formats_it_without_a_warning(page, tmp_path):
    (tmp_path / "styleforge.1").write_text(page, "utf-8")
    command = ["groff", "-man", "-ww", "-Tascii", str(tmp_path / "styleforge.1")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert all(command in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", [[], ["stylize"], ["styles", "add"]])
def test_every_help_ends_with_the_exit_statuses(command, capsys):
    assert main([*command, "--help"]) == 0
    told = capsys.readouterr().out.partition("exit status:\n")[2].splitlines()
    assert told == [f"  {status:<3}  {text}" for status, text in EXIT_STATUSES.items()]


def test_the_manual_has_the_same_table_of_exit_statuses():
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text("utf-8")
    table = page.partition("## Exit statuses\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", table, re.MULTILINE)
    assert {int(status): text for status, text in rows} == EXIT_STATUSES
