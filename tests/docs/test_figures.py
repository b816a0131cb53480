"""The figures on the benchmark page belong to the bundled weights."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from app.styles.catalog import BUILTIN
from benchmarks.tables.pages import BLOCK

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "benchmarks.md"
SHOWN = sorted({(PAGE.parent / block[2]).resolve() for block in BLOCK.finditer(PAGE.read_text())})
SHIPPED = BUILTIN.parent / "any_style"
REPORTS = PAGE.parents[2] / "benchmarks" / "reports"
ANY_STYLE = REPORTS / "any-style-quality.json"  # has its own page
# Measured with random numbers: single operations, the network for the time model, and the network
# that accepts any picture as a style; or without a network.
OF_NO_STYLE = {
    *("any-style.json", ANY_STYLE.name, "mattes.json"),
    *("operations.json", "model.json", "tuning.json", "tuning-100kb.json"),
    *(
        "library-cpu.json",
        "library-cuda.json",
        "library-compiled.json",
        "conversion.json",
    ),
}


def _outdated(report: dict[str, Any]) -> list[str]:
    return [
        name
        for name, digest in report["weights"].items()
        if not (BUILTIN / name).is_file()
        or hashlib.sha256((BUILTIN / name).read_bytes()).hexdigest() != digest
    ]


@pytest.mark.parametrize(
    "path", [*(p for p in SHOWN if p.name not in OF_NO_STYLE), ANY_STYLE], ids=lambda p: p.name
)
def test_the_figures_shown_are_of_the_weights_that_ship(path):
    report = json.loads(path.read_text("utf-8"))
    measured = {style["key"] for style in report.get("quality", {}).get("styles", ())}
    measured |= {report["style"]} if "style" in report else set()
    weighed = {name.partition("/")[0] for name in report["weights"]}
    assert weighed
    assert measured <= weighed
    assert _outdated(report) == []
    for name, digest in report.get("quality", {}).get("any_style", {}).items():
        assert hashlib.sha256((SHIPPED / name).read_bytes()).hexdigest() == digest


def test_figures_of_weights_that_no_longer_ship_are_noticed():
    name = "candy/weights.safetensors"
    digest = hashlib.sha256((BUILTIN / name).read_bytes()).hexdigest()
    assert _outdated({"weights": {name: digest}}) == []
    assert _outdated({"weights": {name: "0" * 64}}) == [name]
    assert _outdated({"weights": {"gone/weights.safetensors": digest}}) == [
        "gone/weights.safetensors"
    ]


def test_every_stored_report_of_a_style_is_on_the_page():
    stored = {path.name for path in REPORTS.glob("*.json")}
    assert {path.name for path in SHOWN} - OF_NO_STYLE == stored - OF_NO_STYLE
