"""Shells complete commands, flags and their values; the scripts know every flag."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from app import cli
from app.cli import COMMANDS, main
from app.commands.completion.command import SHELLS
from app.commands.parser_tree import Command
from models.transformer_net import ALL_VARIANTS
from tests.app.commands.test_cli import flags

MOST = ("megabytes", "megapixels", "requests", "waiting", "styles")
ASK = {
    "bash": """
source "$0"
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
_styleforge
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "zsh": """
compdef() { :; }
compadd() { shift; print -l -- $@; }
_files() { print -l -- FILES; }
_describe() { print -l -- ${offered%%:*}; }
source "$0"
words=("$@"); CURRENT=$#; PREFIX=$words[-1]
_styleforge
""",
    "fish": """
source $argv[1]
complete -C (string join ' ' -- $argv[2..-1]) | string replace -r '\\t.*' ''
""",
}


@pytest.fixture(params=list(SHELLS))
def script(request, tmp_path, capsys) -> tuple[str, Path]:
    assert main(["completion", request.param]) == 0
    path = tmp_path / f"completion.{request.param}"
    path.write_text(capsys.readouterr().out, "utf-8")
    return request.param, path


def completed(script: tuple[str, Path], *words: str) -> set[str]:
    """Return the shell's completions for the last word, which may be incomplete."""
    shell, path = script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    given = [program, "-c", ASK[shell], str(path), "styleforge", *words]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return {line for line in done.stdout.splitlines() if line.startswith(words[-1])}


def test_commands_flags_choices_and_styles_are_completed(script):
    assert completed(script, "st") == {"styles", "stylize"}
    assert completed(script, "stylize", "--sk") == {"--skip-existing"}
    assert completed(script, "stylize", "a.png", "--kernels", "") == set(ALL_VARIANTS)
    assert completed(script, "stylize", "--style", "c") == {"candy", "composition_vii"}
    assert completed(script, "styles", "add") == {"add", "add-picture"}
    assert completed(script, "styles", "add-picture", "--n") == {"--network"}
    assert completed(script, "completion", "") == set(SHELLS)
    assert completed(script, "export", "ca") == {"candy"}
    assert completed(script, "camera", "--style", "ca") == {"candy"}
    assert completed(script, "serve", "--max-") == {f"--max-{name}" for name in MOST}
    assert completed(script, "queue", "re") == {"remove", "retry"}
    assert "--skip-existing" not in completed(script, "bench", "--s")


def test_every_flag_of_every_command_is_in_every_script(script):
    shell, path = script
    text = path.read_text("utf-8")
    program = Command((), "", cli._parser("man"))
    assert {command.path[0] for command in program.walk() if command.path} == set(COMMANDS)
    for command in program.walk():
        assert all(word in text for word in command.path)
    for action in flags(program.parser):
        for flag in action.option_strings:
            written = f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag[1:]
            assert written in text
