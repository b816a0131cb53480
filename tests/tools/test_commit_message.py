"""Commit messages have one form, and so has every commit since the check exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.commit_message import faults, main

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "tools/commit_message.py"
BODY = "\n\nBecause.\n"


@pytest.mark.parametrize(
    "message",
    [
        "engine: infer, then finish" + BODY,
        "ui, live: show the newest frame" + BODY,
        "app/engine: " + "x" * 60 + BODY,
        "kernels: load sm_90 first\n\nBecause.\n# Please enter the commit message\n",
        "Merge branch 'other'",
        'Revert "kernels: load sm_90 first"',
    ],
)
def test_a_good_message_passes(message):
    assert faults(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Show the newest frame" + BODY, "`area: summary`"),
        ("Engine: show the newest frame" + BODY, "`area: summary`"),
        ("engine:show the newest frame" + BODY, "`area: summary`"),
        ("engine: added a frame" + BODY, "imperative"),
        ("engine: Fixes a frame" + BODY, "imperative"),
        ("engine: " + "x" * 65 + BODY, "73 characters"),
        ("engine: show the newest frame." + BODY, "period"),
        ("engine: show the newest frame\nBecause.\nIt is so.", "second line"),
        ("engine: show the newest frame", "the body is missing"),
        ("engine: show the newest frame\n\n# comments are no body\n", "the body is missing"),
        ("engine: show it\n\n# ----- >8 -----\ndiff --git a b\n+x", "the body is missing"),
        ("", "`area: summary`"),
    ],
)
def test_a_bad_message_is_refused_with_the_reason(message, fault):
    assert any(fault in sentence for sentence in faults(message))


def test_the_hook_fails_with_a_line_for_each_fault(tmp_path, capsys):
    (tmp_path / "message").write_text("Show it.\n")
    assert main([str(tmp_path / "message")]) == 1
    assert capsys.readouterr().err.count("commit message: ") == 3
    (tmp_path / "message").write_text("ui: show it" + BODY)
    assert main([str(tmp_path / "message")]) == 0


def test_git_can_run_the_hook(tmp_path):
    (tmp_path / "message").write_text("Show it.\n")
    done = subprocess.run([sys.executable, SCRIPT, tmp_path / "message"], cwd=ROOT, check=False)
    assert done.returncode == 1


def git(*arguments: str) -> str | None:
    """Return git's output in the checkout; None without git or history."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def test_every_commit_since_the_check_exists_passes_it():
    first = git("log", "--diff-filter=A", "--format=%H", "--", SCRIPT)
    if not first:
        pytest.skip("this is not a checkout with its history")
    begin = first.split()[-1]
    messages = git("log", "--format=%H%n%B%x00", "HEAD", "--not", f"{begin}^@")
    assert messages
    wrong = {}
    for entry in filter(None, (part.strip() for part in messages.split("\0"))):
        commit, _, message = entry.partition("\n")
        if found := faults(message):
            wrong[commit[:12]] = found
    assert not wrong
