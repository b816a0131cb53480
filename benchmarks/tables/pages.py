"""Formats stored benchmark reports as Markdown, and fills them into docs/reference/benchmarks.md.

`python -m benchmarks.tables docs/reference/benchmarks.md` replaces each block
`<!-- figures: ../../benchmarks/reports/cpu.json -->` ... `<!-- end of figures -->` by the tables of
the report, whose path is relative to the page. A block that begins with
`<!-- figures if measured: ` states so if the report does not exist. Operations may name a second
report, with the compiler's times: `<!-- figures: cuda.json and compiled.json -->`.

`python -m benchmarks.tables benchmarks/reports/cpu.json` prints the tables of a report.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.tables.any_style import any_style_table
from benchmarks.tables.cells import markdown_table, without_empty_columns
from benchmarks.tables.cpu import cpu_tables
from benchmarks.tables.devices import devices_table
from benchmarks.tables.fluid import fluid_table
from benchmarks.tables.library import conversion_table, library_table
from benchmarks.tables.library_page import cut, library_summary
from benchmarks.tables.live import (
    dropped_sentence,
    live_table,
    moving_table,
    processor_table,
    window_table,
)
from benchmarks.tables.mattes import mattes_table
from benchmarks.tables.network import frames_table, notes, steps_table, table
from benchmarks.tables.origin import where
from benchmarks.tables.quality import quality_markdown
from benchmarks.tables.strokes import strokes_table
from benchmarks.tables.webgpu import webgpu_tables
from utils.files.atomic import atomic_write
from utils.text import printable

BLOCK = re.compile(
    r"(<!-- figures(?: if measured)?: (\S+)(?: and (\S+))? -->\n).*?(<!-- end of figures -->)",
    re.DOTALL,
)
# By its section of the report, a table of each kind.
TABLES: Mapping[str, Callable[[Any], Sequence[Sequence[str]]]] = {
    "window": window_table,
    "window_on_processor": processor_table,
    "moving_stream": moving_table,
    "any_style": any_style_table,
    "conversion": conversion_table,
    "devices": devices_table,
    "fluid": fluid_table,
    "frames": frames_table,
    "mattes": mattes_table,
    "strokes": strokes_table,
    "library": lambda rows: without_empty_columns(library_table(rows)),
}


def markdown(report: Mapping[str, Any]) -> str:
    """Format a stored report of any kind: a line about the machine, then the tables."""
    return "\n\n".join([f"{where(report)}{cut(report)}", *_tables(report)]) + "\n"


def _tables(report: Mapping[str, Any]) -> Iterator[str]:
    if "cpu" in report:
        yield from cpu_tables(report)
    elif "live" in report:
        yield markdown_table(live_table(report["live"]), left=1)
    elif "webgpu" in report:
        yield from webgpu_tables(report)
    elif "quality" in report:
        yield quality_markdown(report["quality"])
    elif section := next((name for name in TABLES if name in report), None):
        yield markdown_table(TABLES[section](report[section]))
        if "steps" in report:
            yield markdown_table(steps_table(report["steps"]))
        if report.get("dropped_s"):
            yield dropped_sentence(report["dropped_s"])
    else:
        for size in report["sizes"]:
            yield f"**{size['width']}x{size['height']}**"
            yield markdown_table(table(size["rows"]))
            yield from (f"Not run: {note}." for note in notes(size["rows"]))


def refreshed(text: str, folder: Path) -> str:
    """Fill every block of figures in a page; reports are relative to `folder`.

    Raises:
        OSError: If a report cannot be read.
        ValueError: If a report is damaged.
    """

    def fill(match: re.Match[str]) -> str:
        names = [name for name in match.group(2, 3) if name]
        missing = [Path(name).name for name in names if not (folder / name).is_file()]
        if "if measured" in match[1] and missing:
            told = " and no ".join(f"`{name}`" for name in missing)
            return f"{match[1]}Not measured yet: there is no {told} so far.\n{match[4]}"
        reports = [json.loads((folder / name).read_text("utf-8")) for name in names]
        return f"{match[1]}{_filled(match[2], *reports)}{match[4]}"

    return BLOCK.sub(fill, text)


def _filled(name: str, report: Any, compiled: Any = None) -> str:
    with _damage_told(name):
        summarized = "library" in report
        return _checked(library_summary(report, compiled) if summarized else markdown(report))


def _printed(path: Path) -> str:
    report = json.loads(path.read_text("utf-8"))
    with _damage_told(path.name):
        return _checked(markdown(report))


def _checked(text: str) -> str:
    text.encode()  # raises for lone surrogates, which cannot be written
    return text


@contextmanager
def _damage_told(name: str) -> Generator[None]:
    """Raise ValueError with the report's name if its content is not a report's."""
    try:
        yield
    except (TypeError, AttributeError, LookupError, ArithmeticError, ValueError) as exc:
        raise ValueError(f"{name} is not a report ({type(exc).__name__}: {exc})") from exc


def main(argv: Sequence[str] | None = None) -> int:
    """Refresh the pages named on the command line, and print the reports.

    Return 1 if a report is missing or damaged.
    """
    for name in sys.argv[1:] if argv is None else argv:
        path = Path(name)
        try:
            if path.suffix == ".json":
                sys.stdout.write(_printed(path))
                continue
            text = refreshed(path.read_text("utf-8"), path.parent)
        except (OSError, ValueError, RecursionError) as exc:
            sys.stderr.write(f"{path} was left as it is: {printable(str(exc))}\n")
            return 1
        atomic_write(path, text.encode())
    return 0
