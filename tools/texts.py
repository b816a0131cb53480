"""Writes `tests/texts.txt`, which holds every sentence of the program: `python -m tools.texts`.

The sentences are strings of the source with at least two words, texts that are translated and the
text of the server's page. Sentences of one folder are sorted, so that a changed one shows in a diff
beside its former wording. A field is in braces, as the source names it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from tools import translations

ROOT = Path(__file__).resolve().parent.parent
SNAPSHOT = ROOT / "tests" / "texts.txt"
ROOMS = ("app", "benchmarks", "kernel_fusion", "kernels", "models", "utils")
FIRST_LINE = "# Every sentence of the program. `python -m tools.texts` rewrites this file."
_WORDS = re.compile(r"[^\W\d_]{2,}[,;:.!?)'\"]* +(\S+ +)*?['\"({]*[^\W\d_]{2,}")
# Style sheets, C++, shaders, shell scripts, patterns and annotations, which nobody reads as text.
_CODE = re.compile(
    r"^\s*(//|#|[<.@(])|[;{]\s*\n|;;|-src '|"
    r"^[a-z-]+(, [a-z-]+)+$|;$|vec4<|^\w+\[|\$\(|__|\\[dwsb]|::|\) \{|=\""
)
_JS_STRING = re.compile(r"`([^`]*)`|\"([^\"\n]*)\"")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def snapshot() -> str:
    """Return the text of the file, made from the current source."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*")):
        if read := _READERS.get(path.suffix):
            found[_section(path)].update(read(path.read_text("utf-8")))
    translated = translations.texts()
    known = {text for texts in translated.values() for text in texts}
    sections = {title: texts - known for title, texts in found.items()}
    sections |= {f"translated: {area}": set(texts) for area, texts in translated.items()}
    lines = [FIRST_LINE]
    for title, texts in sorted(sections.items()):
        if texts:
            lines += ["", f"# {title}", *sorted(map(_one_line, texts))]
    return "\n".join(lines) + "\n"


def sentences_of(source: str) -> Iterator[str]:
    """Yield the sentences of a Python module, without docstrings and translated texts."""
    tree = ast.parse(source)
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Call) and translations.function_of(node) in translations.FUNCTIONS:
            left += node.keywords
            continue
        if isinstance(node, ast.Constant | ast.JoinedStr):
            text = _template(node)
            if _WORDS.search(text) and not _CODE.search(text):
                yield text
            continue
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            children.remove(node.body[0])
        left += children


def sentences_of_page(source: str) -> Iterator[str]:
    """Yield the texts between the tags of an HTML page, and its labels and titles."""
    page = _Page()
    page.feed(source)
    yield from page.found


def sentences_of_script(source: str) -> Iterator[str]:
    """Yield the strings of a JavaScript file that have several words."""
    for match in _JS_STRING.finditer(source):
        text = match[1] or match[2] or ""
        if _WORDS.search(text) and not text.startswith(("<", "use ")):
            yield text


class _Page(HTMLParser):
    """Collects the visible texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        shown = ("title", "alt", "placeholder", "aria-label")
        self.found += [value for name, value in attrs if name in shown and value]

    def handle_data(self, data: str) -> None:
        if data.strip() and self.cdata_elem is None:
            self.found.append(" ".join(data.split()))


_READERS = {".py": sentences_of, ".html": sentences_of_page, ".js": sentences_of_script}


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_template, node.values))
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _section(path: Path) -> str:
    """Return the title for a file's sentences: its folder below `app`, or its room."""
    parts: tuple[str, ...] = path.relative_to(ROOT).parts
    below = parts[1:-1] if parts[0] == "app" else ()
    return "/".join((parts[0], *below[:1]))


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), "utf-8")
