"""The pages on operations for any model: their examples run, and they name every operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kernel_fusion as kf
from kernels.ops.general.elementwise.functions import FUNCTIONS
from kernels.table.registry import GENERAL, OPS, prepare
from tools import operations_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ROWS = [op for op in OPS.values() if op.family == GENERAL and not op.name.endswith("_backward")]
PAGES = {
    page.stem: text
    for page in sorted(DOCS.rglob("*.md"))
    if any(f"\n| `{op.name}(" in (text := page.read_text("utf-8")) for op in ROWS)
}


@pytest.mark.full
@pytest.mark.parametrize(
    "page",
    ["tutorials/speed-up-your-model", "how-to/convert-a-model", "reference/kernel_fusion/modules"],
)
def test_the_examples_of_a_guide_run_one_after_another(page, capsys):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    names: dict[str, object] = {"__name__": page}
    for number, example in enumerate(EXAMPLE.findall(text)):
        exec(compile(example, f"{page}.md, example {number + 1}", "exec"), names)
    assert ("x" in capsys.readouterr().out) == ("modules" not in page)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_one_after_another(page, capsys):
    found = prepare(family=GENERAL)
    if any("no C++ compiler" in status.reason for status in found):
        pytest.skip(found[0].reason)
    names: dict[str, object] = {}
    for number, example in enumerate(EXAMPLE.findall(PAGES[page])):
        exec(compile(example, f"{page}.md, example {number + 1}", "exec"), names)
    assert "EXTENSION_LOADED" in capsys.readouterr().out


def test_the_table_of_elementwise_operations_is_written_from_their_declarations():
    page, written = operations_page.PAGE.read_text("utf-8"), operations_page.page()
    assert page == written, "run `python -m tools.operations_page`"


def test_every_operation_is_on_a_page_with_an_example_and_all_its_names():
    for op in ROWS:
        (page,) = (text for text in PAGES.values() if f"\n| `{op.name}(" in text)
        shown = "\n".join(EXAMPLE.findall(page))
        # one example shows how to call any function of the elementwise table
        assert f"kf.ops.{op.name}(" in shown or op.name in FUNCTIONS, "an example of each operation"
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{op.name}("))
        assert all(f"`{alias}`" in row for alias in op.aliases)
        assert all(hasattr(kf.ops, alias) for alias in op.aliases)
