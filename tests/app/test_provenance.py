"""The origin of a figure: the commit it names matches the files that ran."""

from __future__ import annotations

import subprocess

import pytest
import torch

from app import provenance


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Create a repository with one commit that seems to contain the module."""
    monkeypatch.delenv("STYLEFORGE_COMMIT", raising=False)
    for name in (
        "app/provenance.py",
        "benchmarks/reports/cpu.json",
        "docs/reference/benchmarks.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("first\n", "utf-8")
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "app" / "provenance.py"))
    who = "-c", "user.name=a", "-c", "user.email=a@example.com"
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_reports_are_not_what_is_measured(checkout):
    clean = provenance.commit()
    assert clean is not None
    assert len(clean) == 12
    for name in ("benchmarks/reports/cpu.json", "docs/reference/benchmarks.md"):
        (checkout / name).write_text("second\n", "utf-8")
    assert provenance.commit() == clean


def test_a_changed_file_is_told(checkout):
    (checkout / "app" / "provenance.py").write_text("second\n", "utf-8")
    assert str(provenance.commit()).endswith("+")


def test_the_variable_speaks_for_a_copy(checkout, monkeypatch):
    monkeypatch.setenv("STYLEFORGE_COMMIT", "abc")
    assert provenance.commit() == "abc"


def test_a_report_names_the_weights_that_were_measured(catalog):
    style = catalog.get("candy")
    found = provenance.report_header(torch.device("cpu"), [style])
    assert set(found) == {"taken", "machine", "versions", "commit", "weights"}
    assert found["weights"][f"candy/{style.weights.name}"] == style.sha256
    assert "weights" not in provenance.report_header(torch.device("cpu"))


def test_a_report_tells_which_layers_were_tuned_for_the_gpu(monkeypatch):
    said = "tuned for this card on 2026-01-02: lite at 512x512: down1"
    monkeypatch.setattr(provenance, "machine_info", lambda _: {})
    monkeypatch.setattr(provenance, "tuning", lambda device: said * (device.type == "cuda"))
    assert provenance.report_header(torch.device("cuda", 0))["tuned"] == said
    assert "tuned" not in provenance.report_header(torch.device("cpu"))
