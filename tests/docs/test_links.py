"""Every link and every path to a page leads to a file, and every anchor to a heading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
        *DOCS.rglob("*.md"),
        *(ROOT / "notebooks").glob("*.ipynb"),
    ]
)
# Folders with texts that name pages.
ROOMS = ("app", "assets", "benchmarks", "docs", "examples", "kernel_fusion", "kernels", "models")
ROOMS += ("notebooks", "tests", "tools", "utils", "wheels", ".github")
TEXTS = {".py", ".md", ".cu", ".cuh", ".cpp", ".h", ".toml", ".yml", ".ipynb", ".html", ".sh"}
GENERATED = DOCS / "reference" / "packages", DOCS / "try"  # only `make docs` writes them
LINK = re.compile(r"\]\(([^)]*)\)|<(https?:[^>]*)>")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ADDRESS = re.compile(r"https://[\w-]+(\.[\w-]+)+(/[\w./?=&%~+#:@-]*)?")
MENTION = re.compile(r"(?<![\w/.\\-])docs/[\w/.-]+\.(?:md|webp|html)\b")


def prose(path: Path) -> str:
    """Return the text of a page, or of the Markdown cells of a notebook."""
    text = path.read_text("utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as MkDocs and GitHub make them."""
    text = re.sub(r"^ *```.*?^ *```$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for heading in HEADING.findall(text):
        words = re.sub(r"\]\([^)]*\)|[^\w\s-]", "", heading).strip().lower()
        found.append(re.sub(r"[-\s]+", "-", words))
    return frozenset(found)


def dead_links(page: Path, text: str) -> Iterator[str]:
    """Yield the links in a page's `text` that lead nowhere or have a wrong form."""
    for match in LINK.finditer(CODE.sub("", text)):
        link = match[1] if match[2] is None else match[2]
        if re.match(r"\w+:", link):
            if not ADDRESS.fullmatch(link):
                yield link
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if target.parent in GENERATED:
            continue
        there = target.is_file() and target.is_relative_to(ROOT)
        if not there or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page):
    assert list(dead_links(page, prose(page))) == []


@pytest.mark.parametrize(
    "link",
    [
        "gone.md",
        "gone.md#credits",
        "CONTRIBUTING.md#gone",
        "#gone",
        "../outside.md",
        "docs",
        " README.md",
        "http://example.com/",
        "https://example.com/ ",
        "https://example",
    ],
)
def test_a_dead_or_misspelled_link_is_noticed(link):
    page = ROOT / "README.md"
    assert list(dead_links(page, f"See [it]({link}).")) == [link]


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/index.md#how-to-guides) and ![b](docs/painted.webp)",
        "[a](https://docs.ray.io)",
        "<https://example.com/a?b=c#d>",
        "`[a](gone.md)`",
        "```sh\n[a](gone.md)\n```",
    ],
)
def test_a_good_link_and_code_are_left_alone(text):
    assert list(dead_links(ROOT / "README.md", text)) == []


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_every_path_to_a_page_that_a_file_names_exists(room):
    files = [ROOT / "Makefile", *ROOT.glob("*.*")] if not room else (ROOT / room).rglob("*.*")
    gone = [
        (file.relative_to(ROOT).as_posix(), name)
        for file in files
        if file.name == "Makefile" or file.suffix in TEXTS
        for name in MENTION.findall(file.read_text("utf-8"))
        if not (ROOT / name).is_file()
    ]
    assert gone == []
