"""Refuses prose that readers have to parse twice; `make lint` runs it over all tracked files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROSE = {".py": r"(?:^|\s)# (.*)", ".md": r"(.*)"} | dict.fromkeys(
    (".cu", ".cuh", ".cpp", ".c", ".h"), r"(?:^|\s)// (.*)"
)
OPENING = re.compile(r"(What|Of|As|That|Those|Where|By|Who)\b")
ANYWHERE = re.compile(r"\b(those|that) of\b", re.IGNORECASE)


def faults(name: str, text: str) -> Iterator[str]:
    """Yield every docstring, comment or line of prose that breaks a rule, with its place."""
    if name.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                said = " ".join((ast.get_docstring(node) or "").split())
                if OPENING.match(said) or ANYWHERE.search(said):
                    yield f"{name}:{getattr(node, 'lineno', 1)}: {said}"
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(PROSE[Path(name).suffix], line)
        if found and ANYWHERE.search(found[1]):
            yield f"{name}:{number}: {found[1]}"


if __name__ == "__main__":
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    files = [name for name in tracked if Path(name).suffix in PROSE]
    found = [each for name in files for each in faults(name, (ROOT / name).read_text("utf-8"))]
    sys.exit("\n".join(found) or 0)
