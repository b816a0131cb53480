"""A report contains what helpers need, and nothing private."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from app.cli import main
from app.diagnostics import report_process
from app.diagnostics.log_file import log_path
from app.diagnostics.report import report, settings_lines
from app.diagnostics.report_process import ReportError, make_report
from app.settings import Settings, settings_path
from tests.helpers.errors import refused


def test_a_report_has_the_findings_the_settings_and_the_log(monkeypatch):
    text = report(
        {"PyTorch": [("ok", "PyTorch 2"), ("note", "no GPU")]},
        Settings(style="mosaic", source="/photos/anna/wedding.jpg"),
        ["1 INFO opened 'wedding.jpg'", "2 INFO showed wedding"],
    )
    assert "  PyTorch, note: no GPU\n" in text
    assert "  style = mosaic\n" in text
    assert "  source = (set)\n" in text
    assert text.endswith("Log\n  1 INFO opened <name>\n  2 INFO showed <name>\n")
    assert "anna" not in text


def test_no_setting_that_may_be_a_path_is_in_a_report():
    private = "/photos/Anna Smith/trip.jpg"
    texts = [field.name for field in fields(Settings) if isinstance(field.default, str)]
    settings = Settings(**dict.fromkeys(texts, private))  # type: ignore[arg-type]
    lines = settings_lines(settings)
    assert len(lines) == len(fields(Settings))
    assert [line for line in lines if "Anna" in line or "trip.jpg" in line] == []
    assert {f"{name} = (set)" for name in texts} <= set(lines)
    assert "view = styled" in settings_lines(Settings())


def test_the_doctor_prints_a_report(native_kernels, capsys):
    Settings(source="/photos/wedding.jpg").save(settings_path())
    log_path().parent.mkdir(parents=True)
    log_path().write_text("INFO Could not open 'wedding.jpg'\n")
    main(["doctor", "--report", "--no-build"])
    text = capsys.readouterr().out
    assert "  Folders, ok: log: " in text
    assert "INFO Could not open <name>" in text
    assert "wedding" not in text


def test_a_report_is_made_in_a_process_of_its_own(monkeypatch):
    ran: list[list[str]] = []

    def run(arguments, **how):
        ran.append(arguments)
        return subprocess.CompletedProcess(arguments, 1, "StyleForge 1: report\n", "")

    monkeypatch.setattr(subprocess, "run", run)
    assert make_report() == "StyleForge 1: report\n"
    assert ran == [[sys.executable, "-m", "app", "doctor", "--report", "--no-build"]]


def test_a_doctor_that_crashes_or_hangs_is_said_with_its_last_line(monkeypatch):
    monkeypatch.setattr(report_process.app, "__name__", "no_such_package")
    with pytest.raises(ReportError, match=r"`styleforge doctor` failed: .*no_such_package"):
        make_report()
    monkeypatch.undo()

    def hang(arguments, *, timeout, **how):
        raise subprocess.TimeoutExpired(arguments, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    with refused(ReportError, n="180"):
        make_report()
