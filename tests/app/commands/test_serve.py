"""`styleforge serve` as a process: its output, its address, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app import cli
from app.cli import main
from tests.helpers.errors import mentions

ROOT = Path(__file__).resolve().parents[3]
FEW = ("--port", "0", "--device", "cpu", "--kernels", "baseline")


@contextmanager
def started(
    *flags: str, errors: int = subprocess.PIPE
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command in a child process; yield the process and its first output line."""
    command = [sys.executable, "-m", "app", "serve", *FEW, *flags]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line, process.communicate()[1]
        yield process, line
    finally:
        process.kill()
        process.communicate()


def get(url: str, token: str) -> dict:
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(asked, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.full), signal.SIGTERM]
)
def test_the_address_with_the_token_is_printed_and_a_signal_ends_it(number):
    with started() as (process, line):
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)#token=([A-Za-z0-9_-]{43})", line)
        assert found
        status = get(f"{found[1]}api/status", found[2])
        assert status["limits"]["waiting"] == 16
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "Stopped."


@pytest.mark.full
def test_a_token_in_a_file_is_not_printed(tmp_path):
    path = tmp_path / "token"
    with started("--token-file", str(path), "--max-megapixels", "7") as (_, line):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", line)
        status = get(f"{line}api/status", path.read_text().strip())
        assert status["limits"]["pixels"] == 7_000_000


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of POSIX")
@pytest.mark.parametrize("flags", [(), ("--quiet",)])
def test_quiet_shows_no_spinner_on_a_terminal(flags):
    ours, theirs = os.openpty()
    with started(*flags, errors=theirs) as (_, line):
        assert line.startswith("http://127.0.0.1:")
    os.write(theirs, b"end")
    assert (b"Preparing" in os.read(ours, 1 << 16)) == (not flags)
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("address", ["0.0.0.0", "192.168.1.1", "localhost"])
def test_another_address_is_refused_in_a_sentence(address, capsys):
    assert main(["serve", "--host", address]) == 2
    told = capsys.readouterr().err
    assert mentions(told, "127.0.0.1 or ::1", f"not at '{address}'")


def test_a_limit_is_a_positive_number(capsys):
    assert main(["serve", "--max-megabytes", "0"]) == 2
    assert "1 to 1000000, not 0" in capsys.readouterr().err


def test_a_style_or_device_that_is_missing_ends_it_before_it_listens(capsys):
    assert main(["serve", *FEW[:2], "--device", "cuda:99"]) == 1
    assert capsys.readouterr().err.startswith("styleforge: ")


def test_a_precision_that_no_network_is_offered_in_ends_it_before_it_listens(capsys):
    assert main(["serve", *FEW, "--precision", "tf32"]) == 1
    assert mentions(capsys.readouterr().err, "TF32 needs a GPU")


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("app.server.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", *FEW]) == 1
    assert 'pip install "styleforge[serve]"' in capsys.readouterr().err
    assert main(["serve", "--help"]) == 0


def test_help_completion_and_the_manual_know_the_command(capsys):
    parser = cli._parser("man")
    assert "serve" in parser.format_help()
    for command in (["man"], ["completion", "bash"], ["completion", "zsh"], ["completion", "fish"]):
        assert main(command) == 0
        out = capsys.readouterr().out.replace("\\-", "-")
        assert "token-file" in out
