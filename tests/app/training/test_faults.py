"""Any fault in a training becomes one sentence, and the studio is ready again."""

from __future__ import annotations

import argparse
import subprocess
import sys

import psutil
import pytest

from app.commands.train import command as train
from app.processes.command_process import ROOT, CommandProcess, ProcessExit
from app.training.controller import TrainingController
from app.training.request import TrainingRequest
from app.training.state import Phase
from tests.app.training.conftest import LONG, fields, filled, learning, until
from tests.helpers.errors import mentions


def told(qtbot, studio: TrainingController, order: TrainingRequest) -> str:
    studio.start(order, None)
    problem = until(qtbot, studio, Phase.IDLE).problem
    assert problem is not None
    return problem.summary


def test_a_bad_style_picture_is_told_at_once_and_again_if_it_is_ordered(
    window, session, order, qtbot, tmp_path, runs
):
    page = tmp_path / "page.png"
    page.write_text("<!doctype html><title>404</title>")
    window.form.set_picture(page)
    qtbot.waitUntil(lambda: "'page.png'" in window.form.picture_remark.text())
    assert window.foot.status.text() == "Choose a painting"
    assert not window.foot.start.isEnabled()
    bad = TrainingRequest(**{**fields(order), "picture": page})
    assert mentions(told(qtbot, session.studio, bad), "Red stripes", "page.png")
    assert window.problems.isVisible()
    assert not runs.exists()


@pytest.mark.full
def test_an_empty_folder_is_told_in_a_sentence(window, session, order, qtbot, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    window.form.set_picture(order.picture)
    window.form.set_folder(empty)
    qtbot.waitUntil(lambda: "no photographs" in window.form.folder_remark.text())
    assert not window.foot.start.isEnabled()
    bad = TrainingRequest(**{**fields(order), "photographs": empty})
    assert told(qtbot, session.studio, bad).endswith("holds no photographs")
    assert window.isVisible()


@pytest.mark.full
def test_a_missing_vgg_file_is_told_in_a_sentence(studio, order, qtbot, tmp_path):
    bad = TrainingRequest(**{**fields(order), "vgg": tmp_path / "gone.pth"})
    sentence = told(qtbot, studio, bad)
    assert mentions(sentence, "Red stripes", str(tmp_path / "gone.pth"), "does not exist")


@pytest.mark.full
def test_a_process_that_is_killed_is_told_and_the_studio_is_ready_again(studio, order, qtbot, runs):
    studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    process = studio._process._process
    assert process is not None
    psutil.Process(process.processId()).kill()
    state = until(qtbot, studio, Phase.IDLE, Phase.PAUSED)
    assert state.problem is not None
    assert "memory" in state.problem.summary
    if state.phase is Phase.PAUSED:  # it had just written a checkpoint
        studio.cancel()
        until(qtbot, studio, Phase.IDLE)
    assert not list(runs.iterdir())
    assert not studio._process.running


def test_what_a_process_ends_with_becomes_one_sentence():
    def judged(code: int, *errors: str, crashed: bool = False) -> ProcessExit:
        process = CommandProcess()
        process._errors = list(errors)
        return process._classify_exit(code, crashed=crashed)

    assert judged(0) == ProcessExit("done")
    assert judged(130) == ProcessExit("stopped")
    ending = judged(1, "a warning", "styleforge: the disk is full")
    assert (ending.outcome, ending.reason) == ("failed", "the disk is full")
    assert mentions(ending.details, "a warning", "the disk is full")
    assert "ValueError: odd" in judged(1, "Traceback", "ValueError: odd").reason
    assert "memory" in judged(9, crashed=True).reason
    assert "signal 11" in judged(11, crashed=True).reason


def test_want_of_memory_is_one_sentence(monkeypatch, order, tmp_path):
    def full(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ...")

    monkeypatch.setattr(train, "load_photographs", full)
    parser = argparse.ArgumentParser()
    train.add_parser(parser.add_subparsers())
    flags = ["--style-image", str(order.picture), "-o", str(tmp_path / "out"), *order.flags()]
    with pytest.raises(train.StyleForgeError, match="memory for 2 photographs"):
        train.run(parser.parse_args(["train", *flags]))


@pytest.mark.full
def test_weights_are_downloaded_only_with_consent(window, session, order, qtbot, monkeypatch):
    monkeypatch.setenv("STYLEFORGE_CACHE", str(order.photographs.parent / "cache"))
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # no server listens there
    filled(window, TrainingRequest(**{**fields(order), "vgg": None}), qtbot)
    window.foot.start.click()
    assert mentions(window.choice_card.question, "9 MB", "download.pytorch.org")
    assert session.studio.state.phase is Phase.IDLE
    window.choice_card.buttons[0].click()
    problem = until(qtbot, session.studio, Phase.IDLE).problem
    while problem is None:
        qtbot.wait(50)
        problem = session.studio.state.problem
    assert "could not be downloaded" in problem.summary


@pytest.mark.full
def test_the_command_ends_when_the_program_that_started_it_does(order, tmp_path):
    long = TrainingRequest(**{**fields(order), "preset": LONG})
    line = [
        *(sys.executable, "-m", "app", "train", "--style-image", str(order.picture)),
        *("-o", str(tmp_path / "out"), "--name", "s", "--json-progress", "--listen"),
        *long.flags(),
    ]
    process = subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    while b'"progress"' not in process.stdout.readline():
        assert process.poll() is None
    process.communicate(timeout=60)  # closes its stdin
    assert process.returncode == 130
    assert (tmp_path / "out" / "s.training.pt").is_file()
