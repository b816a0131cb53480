"""`styleforge bench --suite cpu`: the network on a processor, beside what others compute there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from app.exit_status import DONE
from app.provenance import report_header
from app.styles.pack import Style
from benchmarks.network.cpu import suite
from benchmarks.tables.cpu import layers_table, ways_notes, ways_table
from benchmarks.tables.origin import where
from kernels.table.registry import STYLE, prepare
from utils.devices import resolve

SIZES = suite.SIZES
RUNS = 9


def run(
    sizes: Sequence[tuple[int, int]],
    runs: int | None,
    style: Style,
    stored: Callable[[dict[str, Any]], None],
) -> int:
    """Measure the style's full and lite network, print the tables, and pass on the report.

    `stored` receives the report after every size, so that an interrupted run keeps its results.
    """
    device = resolve("cpu")
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    with Console(stderr=True).status("Preparing the native kernels ..."):
        prepare(family=STYLE)
    report: dict[str, Any] = {
        "style": style.key,
        **report_header(device, [style]),
        "runs": runs or RUNS,
        **suite.facts(),
        "cpu": {},
    }
    console.print(where(report), soft_wrap=True)
    rate = report["products_per_second"]
    networks = {"full": style.weights, **({"lite": style.lite} if style.lite else {})}
    for network, weights in networks.items():
        measured = report["cpu"][network] = []
        for width, height in sizes:
            with Progress(console=Console(stderr=True), transient=True) as progress:
                update = partial(progress.update, progress.add_task("", total=None))
                measured.append(suite.measure(weights, width, height, report["runs"], rate, update))
            stored(report)
        console.print()
        console.print(_plain_table(f"{network} network", ways_table(measured)), crop=False)
        for note in ways_notes(measured):
            console.print(f"Not run at {note}", soft_wrap=True)
        for size in measured:
            title = f"{network} network, {size['width']}x{size['height']}, by layer"
            console.print()
            console.print(_plain_table(title, layers_table(size)), crop=False)
    return DONE


def _plain_table(title: str, lines: list[tuple[str, ...]]) -> Table:
    header, *rows = lines
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for number, name in enumerate(header):
        shown.add_column(name, justify="right" if number else "left")
    for row in rows:
        shown.add_row(*row)
    return shown
