"""Writes the table of elementwise operations in their page, from their docstrings.

python -m tools.operations_page
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from kernels.ops import OPS
from kernels.table.registry import Operation

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/kernel_fusion/elementwise.md"
GROUP = "elementwise"
HEAD = "| operation | computes | other names |\n| --- | --- | --- |\n"
TABLE = re.compile(f"(?<={re.escape(HEAD)})(\\|.*\\n)+")


def page() -> str:
    """Return the text of the page, with the table of today's operations."""
    listed = [op for op in OPS.values() if op.group == GROUP and not op.name.endswith("_backward")]
    rows = "".join(f"{_row(op)}\n" for op in listed)
    return TABLE.sub(lambda _: rows, PAGE.read_text("utf-8"), count=1)


def _row(op: Operation) -> str:
    arguments = ", ".join(inspect.signature(op.operation).parameters)
    first = (inspect.getdoc(op.operation) or "").split("\n\n")[0]
    computes = " ".join(first.split()).removeprefix("Compute ").removesuffix(".")
    aliases = ", ".join(f"`{alias}`" for alias in op.aliases)
    return f"| `{op.name}({arguments})` | {computes} | {aliases}{' ' if aliases else ''}|"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
