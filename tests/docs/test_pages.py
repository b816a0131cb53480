"""The pages agree with the code and with each other."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "benchmarks", "models", "kernels", "kernel_fusion", "utils")
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|PATH|DISPLAY|CXX|PYTHON[A-Z0-9]+")


def test_the_readme_is_a_front_page():
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.index("![") < text.index("make run") < text.index("## ")
    assert "```sh\nmake run     # opens the window\nmake test    # runs the tests\n```" in text
    assert not [line for line in text.splitlines() if len(line) > 100]
    assert "figures:" not in text, "figures are in docs/reference/benchmarks.md"


def test_the_readmes_figures_are_of_the_stored_reports():
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    hopper = row_of("h200.json", "1280x720", "fused", "FP16")
    assert f"paint a 1280x720 picture in {hopper['median_ms']:.2f} ms" in text
    assert f"{hopper['pytorch_gain']:.1f} times as fast as the best that PyTorch" in text
    assert f"no pixel of that picture is more than {hopper['difference']:.2g} of 255" in text
    suite = json.loads((ROOT / "benchmarks/reports/cpu-suite.json").read_text("utf-8"))
    (size,) = (size for size in suite["cpu"]["full"] if size["width"] == 640)
    medians = {row["kernels"]: row["median_ms"] for row in size["rows"]}
    ahead = {key: median / medians["fused"] for key, median in medians.items()}
    fastest = min(ahead[key] for key in ("mnn", "openvino", "ncnn", "onnxruntime"))
    assert f"At 640x480, they are {ahead['baseline']:.1f} times as fast as PyTorch" in text
    assert f"and {fastest:.1f} times as fast as the fastest of MNN, OpenVINO, ncnn" in text


def row_of(report: str, size: str, kernels: str, precision: str) -> dict[str, Any]:
    sizes = json.loads((ROOT / "benchmarks" / "reports" / report).read_text("utf-8"))["sizes"]
    rows = next(each for each in sizes if f"{each['width']}x{each['height']}" == size)["rows"]
    return next(r for r in rows if (r["kernels"], r["precision"]) == (kernels, precision))


def test_every_page_is_in_the_navigation_and_linked_from_the_index_of_its_folder():
    docs = ROOT / "docs"
    listed = re.findall(r"^ *- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M)
    pages = {page.relative_to(docs) for page in docs.rglob("*.md") if "decisions" not in page.parts}
    assert sorted(listed) == sorted(page.as_posix() for page in pages)
    for page in pages - {Path("index.md")}:
        library = page.parent == Path("reference/kernel_fusion") and page.name != "index.md"
        index = docs / page.parent / "index.md" if library else docs / "index.md"
        assert f"]({page.name if library else page.as_posix()})" in index.read_text("utf-8")


def test_the_list_of_decisions_has_every_page_under_its_title():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", (folder / "index.md").read_text("utf-8"), re.M)
    pages = [path for path in folder.glob("*.md") if path.name != "index.md"]
    titles = [
        (path.read_text("utf-8").split("\n")[0].removeprefix("# "), path.name) for path in pages
    ]
    assert sorted(listed) == sorted(titles)


def variables() -> Iterator[str]:
    """Yield the environment variables named in texts of modules that use the environment."""
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        source = path.read_text("utf-8")
        if "nviron" not in source and "getenv" not in source:
            continue
        tree = ast.parse(source)
        other: set[ast.AST] = set()
        for node in ast.walk(tree):
            attribute = isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr"
            if attribute or (isinstance(node, ast.Assign) and "__all__" in ast.unparse(node)):
                other |= set(ast.walk(node))
        for node in ast.walk(tree):
            if node in other or not isinstance(node, ast.Constant):
                continue
            if isinstance(node.value, str) and VARIABLE.fullmatch(node.value):
                yield node.value


def test_every_environment_variable_has_a_row_and_every_row_a_variable():
    page = (ROOT / "docs" / "reference" / "environment.md").read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \|", page, re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(rows) == set(variables())


def test_the_glossary_defines_each_word_once_in_order():
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    rows = page.partition("## Glossary\n")[2].splitlines()
    words = [row.split("|")[1].strip() for row in rows if row.startswith("| ")][2:]
    assert len(words) > 10
    assert words == sorted(set(words), key=str.casefold)


def test_the_changelog_knows_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    assert sections
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d|Unreleased", s) for s in sections)
    assert any(section.startswith(project["version"]) for section in sections)
