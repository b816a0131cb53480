"""The doctor finds what is installed, names what is missing, and survives anything broken."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from app.cli import main
from app.commands import doctor
from app.unused_gpu import mending_command
from kernels.jit import build
from kernels.jit.libraries import LIBRARIES
from kernels.table.registry import GENERAL, OPS
from models.precision import BF16_IS_NO_GAIN, Precision
from tests.helpers.errors import mentions
from tests.helpers.precisions import offer_bf16, set_bf16_gains
from utils import system
from utils.system import Missing

ROOT = Path(__file__).resolve().parents[3]


def says(findings: list[doctor.Finding]) -> str:
    return "\n".join(f"{finding.state}: {finding.says}" for finding in findings)


def test_the_verdict_comes_first_and_names_the_topics_with_faults():
    fine = {"Program": [doctor.Finding(doctor.OK, "it runs")], "Films": []}
    assert mentions(doctor.verdict(fine), "works here", "0 notes")
    fine["Films"].append(doctor.Finding(doctor.NOTE, "no encoder"))
    assert mentions(doctor.verdict(fine), "works here", "1 note")
    fine["Window"] = [doctor.Finding(doctor.FAULT, "no plug-in")]
    assert mentions(doctor.verdict(fine), "Window")
    assert "Films" not in doctor.verdict(fine)


def test_the_report_covers_every_part_as_text_and_as_json(native_kernels, capsys):
    status = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert list(report) == [
        "Program",
        "PyTorch",
        "Packages",
        "Kernels",
        "Precisions",
        "Compiler",
        "WebGPU",
        "Speed",
        "Cameras",
        "Films",
        "Window",
        "Folders",
        "Styles",
    ]
    assert all(report.values())
    states = {finding["state"] for found in report.values() for finding in found}
    assert status == (doctor.FAULT in states)
    assert any(torch.__version__ in finding["says"] for finding in report["PyTorch"])

    main(["doctor"])
    text = capsys.readouterr().out
    assert text.startswith("StyleForge ")
    assert all(topic in text for topic in report)


def test_the_precisions_of_each_family_are_told_with_the_reasons(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    offer_bf16(monkeypatch)
    set_bf16_gains(monkeypatch, 0.7, any_style=1.2)
    told = says(doctor.run_check(doctor.check_precisions)).splitlines()
    assert told[:2] == [
        "ok: good precisions of Feed-forward networks on CPU: FP32",
        "ok: good precisions of Any style networks on CPU: FP32, BF16",
    ]
    assert f"note: {Precision.fp16.refusal(torch.device('cpu'))}" in told
    assert f"note: Feed-forward: {BF16_IS_NO_GAIN}" in told


def test_every_operation_says_what_it_runs_on_and_why(native_kernels):
    told = says(doctor.run_check(lambda: doctor.check_kernels(build=True)))
    others = {name for name, op in OPS.items() if op.family == GENERAL}
    of_the_program = [s for s in native_kernels if s.name not in others]
    assert of_the_program
    for status in of_the_program:
        assert f"{status.name} on cpu runs on {status.runs}" in told
        assert status.reason in told
    assert len(of_the_program) < len(native_kernels)
    assert "add_relu" not in told, "operations for any model are none of the program's"


def test_a_kernel_that_cannot_run_is_a_note_with_its_reason(native_kernels, monkeypatch):
    reason = "no C++ compiler found: install g++"
    monkeypatch.setitem(build._reasons, "instance_norm", reason)
    found = doctor.run_check(lambda: doctor.check_kernels(build=False))
    without = [f for f in found if " on cpu " in f.says and f.says.endswith(f" ({reason})")]
    assert {finding.state for finding in without} == {doctor.NOTE}
    assert len(without) == sum(op.cpu.library == "instance_norm" for op in OPS.values())
    assert not any("the native norm" in finding.says for finding in without)


def test_a_compiler_is_recommended_only_where_a_library_lacks_one(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    used = dict.fromkeys(LIBRARIES, "")
    monkeypatch.setattr(build, "_reasons", used)
    found = doctor.run_check(doctor.check_compiler)
    assert {finding.state for finding in found} == {doctor.OK}
    assert not any("install" in finding.says for finding in found)
    monkeypatch.setattr(build, "_reasons", used | {"instance_norm": build.NOT_BUILT})
    told = says(doctor.run_check(doctor.check_compiler))
    assert mentions(told, "note: instance_norm", "no C++ compiler")
    assert "C++" not in says(doctor.run_check(doctor.check_window))


def test_an_unused_card_is_a_note_with_the_command_that_mends_it(monkeypatch):
    monkeypatch.setattr(doctor, "has_unused_gpu", lambda: True)
    told = says(doctor.run_check(doctor.check_torch))
    assert mentions(told, "note:", "NVIDIA", "CPU build")
    assert mending_command() in told


@pytest.mark.full
def test_another_package_named_kernels_is_recognised(tmp_path):
    """PyPI has such a package; earlier on the path, it would be imported instead of ours."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.py").write_text("")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app", "doctor", "--json", "--no-build"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    (finding,) = json.loads(done.stdout)["Kernels"]
    assert finding["state"] == "fault"
    assert "another package" in finding["says"]
    assert str(tmp_path) in finding["says"]


def test_a_part_that_cannot_be_imported_is_a_finding():
    def check():
        yield doctor.Finding(doctor.OK, "this far")
        import no_such_module_anywhere  # noqa: F401  # pyright: ignore[reportMissingImports]

    found = doctor.run_check(check)
    assert [finding.state for finding in found] == ["ok", "fault"]
    assert "no_such_module_anywhere" in found[1].says


def test_a_missing_system_library_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(system, "QT_LIBRARIES", {"libqt-needs-me.so.9": "libqt-needs-me9"})
    (missing,) = (item for item in system.missing() if item.purpose == system.WINDOW)
    assert missing == Missing("libqt-needs-me.so.9", "libqt-needs-me9", system.WINDOW)
    told = says(doctor.run_check(doctor.check_window))
    assert mentions(told, "fault:", "libqt-needs-me.so.9")
    assert "apt-get install libqt-needs-me9" in told


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about Linux system libraries")
def test_the_table_of_libraries_covers_what_qt_loads():
    """Every direct dependency of Qt's X11 plug-in is in the table or comes with the C library, the
    C++ library or the wheel.
    """
    PySide6 = pytest.importorskip("PySide6")
    plugins = Path(PySide6.__file__).parent / "Qt" / "plugins"
    listed = subprocess.run(
        ["ldd", str(plugins / "platforms" / "libqxcb.so")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    needed = {line.split()[0] for line in listed.splitlines() if "=>" in line}
    outside = {
        name
        for name in needed
        if name.startswith(("libxcb", "libX11", "libEGL", "libGL.", "libxk"))
    }
    assert outside
    assert outside <= set(system.QT_LIBRARIES)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays are Linux's trouble")
def test_without_a_display_it_names_the_command_that_needs_none(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert not system.has_display()
    assert "styleforge stylize" in says(doctor.run_check(doctor.check_window))
    monkeypatch.setenv("DISPLAY", ":98765")  # Qt would abort the process over this one
    assert not system.has_display()
    told = says(doctor.run_check(doctor.check_window))
    assert mentions(told, ":98765", "answer")
    assert "styleforge stylize" in told


def test_a_display_that_answers_is_one(xvfb, monkeypatch):
    for name in ("WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", xvfb["DISPLAY"])
    assert system.has_display()
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    assert system.has_display()


def test_a_narrow_screen_cuts_no_path(monkeypatch):
    path = "/a/very/long/path/" + "x" * 60
    monkeypatch.setattr(sys, "stdout", screen := io.StringIO())
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    doctor.print_findings({"Folders": [doctor.Finding(doctor.OK, path)]})
    printed = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    assert len(printed.splitlines()) > 3, "it is a narrow screen"
    assert path in "".join(printed.split())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="folders by XDG variables")
def test_a_folder_that_cannot_be_written_is_a_fault(monkeypatch, tmp_path):
    (tmp_path / "wall").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "wall" / "data"))
    found = {finding.says.partition(":")[0]: finding for finding in doctor.check_folders()}
    assert found["settings"].state == doctor.OK
    assert found["styles"].state == doctor.FAULT
    assert "not writable: Not a directory" in found["styles"].says


def test_a_broken_qt_is_reported_with_its_last_words():
    assert doctor._run_python("print('a'); print('b')") == ("b", "")
    assert doctor._run_python("raise OSError('libx.so: cannot open')") == (
        "",
        "OSError: libx.so: cannot open",
    )
    answer, fault = doctor._run_python("import os; os.abort()")
    assert answer == ""
    assert "status" in fault


def test_encoders_of_films_are_listed_with_the_reason_where_they_fail():
    findings = list(doctor.check_films())
    assert findings[0].state == doctor.OK
    assert any("CPU: encodes H.264, HEVC" in each.says for each in findings)
    devices = ("NVIDIA", "Intel", "AMD", "Apple")
    for device in devices:
        (found,) = [each for each in findings if device in each.says.split(":")[0]]
        missing = f"no encoder of {device} ("
        assert found.says.startswith(missing if found.state == doctor.NOTE else f"{device}: encod")
