"""`styleforge tune` reports its results, what becomes of them, and how to revert."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from app.cli import main
from app.commands import doctor, tune
from app.errors import ADVICE
from kernels.jit import build
from kernels.network import dispatch, tuned
from kernels.tuning.batch import Case
from kernels.tuning.measuring import Times
from kernels.tuning.sweep import Found, Measured, Skipped, Wanted, Winner
from kernels.tuning.tuner import TuningError
from tests.helpers.errors import mentions

DEVICE = torch.device("cuda", 0)
CARD = "NVIDIA GeForce RTX 3060"
CASE = Case("full", True)
TRAITS = "ConvTraits<32, 64>"
TIMES = Times(0.010, 0.020, 0.01)


@pytest.fixture
def card(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: CARD)
    monkeypatch.setattr(tune, "resolve", lambda _: DEVICE)
    monkeypatch.setattr(doctor, "resolve", lambda _: DEVICE)
    monkeypatch.setattr(tune, "cases_of", lambda *_: [CASE])
    monkeypatch.setattr(tune, "report_header", lambda _: {"commit": "abc"})


@pytest.fixture
def wanted(card, monkeypatch) -> list[Wanted]:
    """Replace the sweep by one with a winning and a skipped candidate; return the requests."""
    asked: list[Wanted] = []

    def stand_in(_device, wanted, progress):
        asked.append(wanted)
        progress("a line about a candidate")
        size = (512, 512)
        found = Found(
            [Measured(CASE, "down1", TRAITS, {size: TIMES})],
            [Skipped(CASE, "down1", "ConvTraits<1>", "spills")],
            [Winner(CASE, "down1", size, TRAITS, TIMES)],
            [(CASE, "down1")],
            "it was stopped by Ctrl+C",
        )
        return found, "tuned for this card on 2026-01-02: full at 512x512: down1"

    monkeypatch.setattr(tune, "tune", stand_in)
    return asked


def test_without_a_gpu_one_sentence_says_so(capsys):
    assert main(["tune", "--device", "cpu"]) == 1
    err = capsys.readouterr().err
    said = "styleforge: tuning needs an NVIDIA GPU, and PyTorch uses none here\n"
    assert err == f"{said}{ADVICE['TuneError']}\n"


def test_progress_winners_and_what_becomes_of_them_are_told(wanted, capsys):
    assert main(["tune"]) == 0
    candidate, winner, counts, incomplete, used = capsys.readouterr().out.splitlines()
    assert candidate == "a line about a candidate"
    assert mentions(winner, "full (small layers), down1", "512x512", TRAITS, "10.0 us", "20.0")
    assert [int(word) for word in counts.split() if word.isdigit()] == [1, 1, 1, 1]
    assert mentions(incomplete, "incomplete", "Ctrl+C")
    assert mentions(used, "2026-01-02", "full at 512x512: down1")
    assert wanted == [Wanted((CASE,), tuned.ROLES, seconds=600.0)]


def test_flags_limit_what_is_tuned(wanted):
    assert main(["tune", "--role", "down1,last", "--minutes", "3", "--most", "9"]) == 0
    assert wanted == [Wanted((CASE,), ("down1", "last"), seconds=180.0, most=9)]


def test_a_report_is_stored_as_those_of_the_other_benchmarks(wanted, tmp_path):
    path = tmp_path / "tune.json"
    assert main(["tune", "--output", str(path)]) == 0
    told = json.loads(path.read_text())
    assert told["commit"] == "abc"
    assert "Ctrl+C" in told["tuning"]["stopped"]
    assert [one["traits"] for one in told["tuning"]["winners"]] == [TRAITS]
    assert told["tuning"]["skipped"][0]["reason"] == "spills"


def test_a_report_that_cannot_be_written_is_told_before_anything_is_measured(
    wanted, capsys, tmp_path
):
    (tmp_path / "file").write_text("")
    assert main(["tune", "--output", str(tmp_path / "file" / "tune.json")]) == 1
    assert f"{tmp_path / 'file'} is not writable" in capsys.readouterr().err
    assert wanted == []


def test_what_cannot_be_tuned_is_one_sentence(wanted, monkeypatch, capsys):
    def refuse(*_):
        raise TuningError("no CUDA compiler found: install the CUDA toolkit (NVRTC)")

    monkeypatch.setattr(tune, "tune", refuse)
    assert main(["tune"]) == 1
    assert "no CUDA compiler" in capsys.readouterr().err


def test_layers_that_fail_the_test_are_a_failure(wanted, monkeypatch, capsys):
    monkeypatch.setattr(
        tune, "tune", lambda *_: (Found(), "not used: self-test failed: it differs")
    )
    assert main(["tune"]) == 1
    assert "self-test failed: it differs" in capsys.readouterr().out


def test_forgetting_removes_what_was_stored_of_the_card_alone(card, capsys):
    ours, theirs = (tuned.path_of(name) for name in (CARD, "NVIDIA Other"))
    ours.parent.mkdir(parents=True)
    for path in (ours, theirs):
        path.write_text("{}")
    assert main(["tune", "--forget"]) == 0
    assert mentions(capsys.readouterr().out, "removed", CARD)
    assert [path.name for path in ours.parent.iterdir()] == [theirs.name]
    assert main(["tune", "--forget"]) == 0
    assert f"no layers tuned on {CARD} are stored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "state", "told"),
    [
        ("", "ok", "no layer is tuned for this card; `styleforge tune` does it"),
        (
            "tuned for this card on 2026-01-02: full",
            "ok",
            "tuned for this card on 2026-01-02: full",
        ),
        ("layers tuned for this card are not used: why", "note", "layers tuned for this card"),
    ],
)
def test_the_doctor_tells_what_was_tuned_or_why_it_is_not_used(
    said, state, told, card, monkeypatch
):
    monkeypatch.setitem(build._reasons, "network", "")
    monkeypatch.setattr(dispatch, "loaded", lambda _: SimpleNamespace(tuning=said))
    assert dispatch.tuning(DEVICE) == said
    (finding,) = doctor._tuning(DEVICE)
    assert finding.state == state
    assert finding.says.startswith(told)


def test_the_tool_of_a_checkout_is_the_command():
    text = Path(tune.__file__).parents[2].joinpath("tools", "tune.py").read_text("utf-8")
    assert 'main(["tune", *sys.argv[1:]])' in text
