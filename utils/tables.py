"""Writes stored benchmark reports as Markdown, and keeps README.md in step with them.

A block `<!-- figures: benchmarks/cpu.json -->` ... `<!-- end of figures -->` is filled from the
report it names: `python -m utils.tables README.md`. Nobody types a figure.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
COLUMNS = (
    "kernels",
    "precision",
    "median ms",
    "p20-p80",
    "fps",
    "kernels' gain",
    "precision's gain",
    "largest difference",
    "PSNR dB",
    "peak MB",
)


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One line of a report's table, as text under COLUMNS; a row that could not run says why in
    its third cell. Ratios are printed whatever they are."""
    if row.get("cannot"):
        return (row["title"], row["precision"], f"cannot run: {row['cannot']}")
    return (
        row["title"],
        row["precision"],
        f"{row['median_ms']:.4g}",
        f"{row['p20_ms']:.4g}-{row['p80_ms']:.4g}",
        f"{1000 / row['median_ms']:.3g}",
        _times(row["kernels_gain"]),
        _times(row["precision_gain"]),
        f"{row['difference']:.2g}",
        "-" if row["psnr"] is None else f"{row['psnr']:.0f}",
        "-" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}",
    )


def where(report: Mapping[str, Any]) -> str:
    """One line: the machine, its software and when it was measured."""
    machine, versions = report["machine"], report["versions"]
    device = machine["gpu"] or f"{machine['cpu']}, {machine['threads']} threads"
    software = f"PyTorch {versions['torch']}, Python {versions['python']}"
    return f"{device}; {software}; {report['style']}; {report['runs']} runs; {report['taken']}"


def markdown(report: Mapping[str, Any]) -> str:
    """The report as Markdown: one line about the machine, then a table per size."""
    parts = [where(report)]
    for size in report["sizes"]:
        rows = [cells(row) for row in size["rows"]]
        parts.append(f"**{size['width']}x{size['height']}**")
        parts.append("\n".join(_table(COLUMNS, rows)))
    return "\n\n".join(parts) + "\n"


def refreshed(text: str, folder: Path) -> str:
    """`text` with every figures block filled from the report it names, relative to `folder`."""

    def fill(match: re.Match[str]) -> str:
        report = json.loads((folder / match[2]).read_text("utf-8"))
        return f"{match[1]}{markdown(report)}{match[3]}"

    return BLOCK.sub(fill, text)


def main(argv: Sequence[str] | None = None) -> int:
    """Refresh the files named on the command line; 1 if a report is missing or damaged."""
    for name in sys.argv[1:] if argv is None else argv:
        path = Path(name)
        try:
            text = refreshed(path.read_text("utf-8"), path.parent)
        except (OSError, ValueError, KeyError) as exc:
            sys.stderr.write(f"{path} was left as it is: {exc}\n")
            return 1
        temporary = path.with_name(f"{path.name}.tmp")
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
    return 0


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"| {' | '.join(header)} |"
    yield f"| --- | --- |{' ---: |' * (len(header) - 2)}"
    for row in rows:
        yield f"| {' | '.join([*row, *[''] * (len(header) - len(row))])} |"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


if __name__ == "__main__":
    sys.exit(main())
