"""The log is complete, bounded, free of the home folder, and never in the way."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from pathlib import Path

import pytest

from app.diagnostics import log_file
from app.diagnostics.log_file import last_lines, log_path, logging_to

log = logging.getLogger("app.something")


def complain(sentence: str) -> None:
    raise AssertionError(sentence)


def test_what_is_logged_is_in_the_file_and_the_home_folder_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/people/anna"))
    path = tmp_path / "log" / "styleforge.log"
    with logging_to(path, complain):
        log.info("opened %s", "/people/anna/x.jpg")
        log.debug("not this")
    text = path.read_text()
    assert "INFO MainThread app.something: opened ~/x.jpg\n" in text
    assert "StyleForge" in text.splitlines()[0]
    assert "not this" not in text
    log.info("afterwards")
    assert "afterwards" not in path.read_text()


def test_exceptions_that_nobody_catches_are_in_the_log(tmp_path, monkeypatch, caplog):
    printed: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda *exc: printed.append(exc[1]))
    monkeypatch.setattr(threading, "excepthook", lambda args: printed.append(args.exc_value))
    path = tmp_path / "styleforge.log"
    with logging_to(path, complain):
        sys.excepthook(ValueError, ValueError("on the main thread"), None)
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
    caplog.clear()
    text = path.read_text()
    assert "ValueError: on the main thread" in text
    assert "ZeroDivisionError: division by zero" in text
    assert [type(each) for each in printed] == [ValueError, ZeroDivisionError]


def test_warnings_are_printed_as_without_a_log_and_uncaught_exceptions_once(
    tmp_path, monkeypatch, capsys, caplog
):
    monkeypatch.setattr(sys, "excepthook", lambda *exc: traceback.print_exception(exc[1]))
    with logging_to(tmp_path / "styleforge.log", complain):
        log.warning("mind this")
        sys.excepthook(ValueError, ValueError("out"), None)
    caplog.clear()
    err = capsys.readouterr().err
    assert err.count("mind this") == 1
    assert err.count("ValueError: out") == 1


def test_the_log_is_bounded_and_its_last_lines_reach_into_the_file_before(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "MAX_BYTES", 2000)
    path = tmp_path / "styleforge.log"
    with logging_to(path, complain):
        for number in range(200):
            log.info("message %d", number)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"styleforge.log{end}" for end in ("", ".1", ".2")]
    assert all(file.stat().st_size <= 2000 for file in files)
    lines = last_lines(path, 25)
    assert [line.rsplit(": ")[-1] for line in lines] == [f"message {n}" for n in range(175, 200)]


def test_a_folder_that_cannot_be_written_is_said_and_the_program_goes_on(tmp_path):
    (tmp_path / "log").write_text("a file, where a folder should be")
    said: list[str] = []
    with logging_to(tmp_path / "log" / "styleforge.log", said.append):
        log.info("goes nowhere")
    assert len(said) == 1
    assert said[0].startswith("There is no log: ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux's folders")
def test_the_log_is_in_the_folder_of_states(tmp_path):
    assert log_path().is_relative_to(tmp_path / "state")
    assert last_lines(log_path(), 10) == []
