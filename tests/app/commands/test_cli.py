"""The command line names its features and its errors, and never ends with a traceback."""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import cli
from app.cli import COMMANDS, main
from app.errors import ADVICE, DISK_FULL
from models.precision import Precision
from models.transformer_net import VARIANTS
from tests.helpers.daily import matrix
from tests.helpers.errors import mentions

ROOT = Path(__file__).resolve().parents[3]


def test_version_and_help_name_every_command(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("styleforge ")
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


def flags(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from flags(below)
        else:
            yield action


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_every_flag_is_explained(command):
    parser = cli._parser(command)
    assert not [action.dest for action in flags(parser) if not action.help]


def test_flags_are_generated_from_the_tables(capsys):
    assert main(["stylize", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(key in out for key in VARIANTS)
    assert all(precision.name in out for precision in Precision)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["paint"], "paint"),
        (["stylize", "a.png"], "-o"),
        (["stylize", "a.png", "-o", "b.png", "--strength", "2"], "0 to 1"),
        (["stylize", "a.png", "-o", "b.png", "--strength", "loud"], "0 to 1"),
        (["stylize", "a.png", "-o", "b.png", "--size", "0"], "16 to 65536"),
        (["stylize", "a.png", "-o", "b.png", "--precision", "fp8"], "fp8"),
        (["stylize", "a.png", "-o", "b.png", "--mix", "udnie:2"], "udnie:0.4"),
        (["stylize", "a.png", "-o", "b.png", "--strokes", "thick"], "thick"),
        (["stylize", "a.png", "-o", "b.png", "--smoothing", "9"], "0 to 1"),
        (["stylize", "a.png", "-o", "b.png", "--texture", "much"], "auto or a number from 0 to 1"),
        (
            ["stylize", "a.png", "-o", "b.png", "--strokes-direction", "up"],
            "must be auto, none, follow, swirl, hand or an angle in degrees, not up",
        ),
        (
            ["stylize", "a.png", "-o", "b.png", "--strokes-handles", "0.1,0.2"],
            "x,y,angle, with x and y from 0 to 1",
        ),
        (["--network", "tiny"], "tiny"),
        (["--mix", ":1"], "udnie:0.4"),
        (["bench", "--sizes", "big"], "'big' is not a size"),
        (["bench", "--sizes", "8x8"], "16 to 16384"),
        (["bench", "--kernels", "fastest"], "'fastest' is not one of"),
        (["--source", "scene", "bench"], "put 'bench' before"),
        (["--source", "scene", "--open", "a.png"], "not allowed with"),
    ],
)
def test_a_wrong_command_line_is_told_what_is_wrong(arguments, says, capsys):
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays are Linux's trouble")
def test_without_a_display_one_sentence_names_the_command_that_needs_none():
    bare = {k: v for k, v in os.environ.items() if k not in DISPLAYS}
    done = subprocess.run(
        [sys.executable, "-m", "app"],
        cwd=ROOT,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "styleforge stylize" in done.stderr
    assert len(done.stderr.splitlines()) == 1


DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def test_files_in_place_of_a_command_are_opened_in_the_window(monkeypatch, tmp_path):
    opened: list[argparse.Namespace] = []
    window = SimpleNamespace(run=lambda args: opened.append(args) or 0)
    monkeypatch.setitem(sys.modules, "app.ui.application", window)
    monkeypatch.chdir(tmp_path)
    for name in ("a.png", "bench"):
        (tmp_path / name).touch()
    assert main(["a.png", "b.png", "--style", "candy"]) == 0
    assert [(args.open, args.style) for args in opened] == [(["a.png", "b.png"], "candy")]
    assert main(["bench", "--sizes", "big"]) == 2
    assert main(["c.png"]) == 2
    assert len(opened) == 1


def test_a_window_that_cannot_be_loaded_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "app.ui.application", None)
    assert main([]) == 1
    err = capsys.readouterr().err
    assert "window cannot be loaded" in err
    assert "styleforge doctor" in err


@pytest.mark.skipif(os.name == "nt", reason="streams are closed and full as on POSIX")
@matrix(
    {
        "streams, status": [
            *((">&-", 0), (">&- 2>&-", 0), ("2>&-", 0)),
            *((">/dev/full", 1), ("| true", 0)),
        ],
        "buffered": ["", "1"],
    },
    meeting=1,
)
def test_no_stream_that_is_closed_or_full_ends_in_a_traceback(streams, status, buffered):
    if "full" in streams and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m app styles list {streams}', sys.executable],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": buffered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    expected = f"styleforge: No space left on device\n{DISK_FULL}\n" if "full" in streams else ""
    assert done.stderr == expected


def test_ctrl_c_while_a_command_is_still_loading_is_no_traceback(monkeypatch, capsys):
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", interrupted)
    assert main(["bench"]) == 130
    assert capsys.readouterr().err == "\nStopped.\n"


def test_threads_that_wait_leave_the_processor_to_others_unless_the_user_says_otherwise():
    ask = (
        "import os, sys; from app.cli import main; early = 'torch' not in sys.modules; "
        "main(['--version']); print(early, os.environ.get('GOMP_SPINCOUNT'))"
    )

    def told(**settings: str) -> str:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
        }
        done = subprocess.run(
            [sys.executable, "-c", ask],
            cwd=ROOT,
            env=environment | settings,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    assert told() == "True 1000"
    assert told(GOMP_SPINCOUNT="7") == "True 7"
    assert told(OMP_WAIT_POLICY="ACTIVE") == "True None"


@pytest.fixture
def boxes(monkeypatch):
    shown = []
    user32 = SimpleNamespace(MessageBoxW=lambda *arguments: shown.append(arguments))
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(user32=user32), raising=False)
    return shown


def without_terminal(monkeypatch, platform, *argv):
    """Run the program with Python's streams missing and return the exit status."""
    with monkeypatch.context() as process:
        process.setattr(sys, "platform", platform)
        process.setattr(sys, "stdout", None)
        process.setattr(sys, "stderr", None)
        status = main(argv)
        sys.stdout.close()  # the null device
        return status


def test_an_error_is_shown_in_a_box_where_windows_started_it_without_a_terminal(boxes, monkeypatch):
    assert without_terminal(monkeypatch, "win32", "stylize", "/no/such.png", "-o", "out.png") == 1
    ((owner, text, title, kind),) = boxes
    assert (owner, title, kind) == (None, "StyleForge", 0x10)
    assert mentions(text, "styleforge:", "'/no/such.png' does not exist", ADVICE["StylizeError"])


def test_no_box_is_shown_elsewhere_or_where_nothing_failed(boxes, monkeypatch):
    assert without_terminal(monkeypatch, "linux", "stylize", "/no/such.png", "-o", "out.png") == 1
    assert without_terminal(monkeypatch, "win32", "--version") == 0
    assert boxes == []
