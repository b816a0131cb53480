"""Writes stored benchmark reports as Markdown, and keeps README.md in step with them.

A block `<!-- figures: benchmarks/cpu.json -->` ... `<!-- end of figures -->` is filled from the
report it names: `python -m utils.tables README.md`. Nobody types a figure.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.files import write_whole

BLOCK = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
COLUMNS = (
    "kernels",
    "precision",
    "median ms",
    "p20-p80",
    "vs baseline",
    "vs FP32",
    "difference",
    "PSNR",
    "peak MB",
)


def table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The header and one line for each row that was run, as text, without the columns that say
    nothing here. Ratios are given whatever they are."""
    lines = [_cells(row) for row in rows if not row.get("not_run")]
    told = [n for n in range(len(COLUMNS)) if any(line[n] != "-" for line in lines)]
    return [tuple(line[n] for n in told) for line in (COLUMNS, *lines)]


def notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One sentence for each row that was not run, saying why."""
    return [
        f"{row['title']}, {row['precision']}: {row['not_run']}"
        for row in rows
        if row.get("not_run")
    ]


def where(report: Mapping[str, Any]) -> str:
    """One line: the machine, its software and when it was measured."""
    machine, versions = report["machine"], report["versions"]
    device = machine["gpu"] or f"{machine['cpu']}, {machine['threads']} threads"
    software = f"PyTorch {versions['torch']}, Python {versions['python']}"
    what = [report["style"], f"{report['runs']} runs"] if "runs" in report else []
    commit = [f"commit {report['commit']}"] if report["commit"] else []
    return "; ".join([device, software, *what, report["taken"], *commit])


def markdown(report: Mapping[str, Any]) -> str:
    """The report as Markdown: one line about the machine, then a table per size, or the figures
    of the live path."""
    if "live" in report:
        return f"{where(report)}\n\n{_live(report['live'])}\n"
    parts = [where(report)]
    for size in report["sizes"]:
        header, *lines = table(size["rows"])
        rule = ["---", "---", *["---:"] * (len(header) - 2)]
        parts.append(f"**{size['width']}x{size['height']}**")
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines)))
        parts += [f"Not run: {note}." for note in notes(size["rows"])]
    return "\n\n".join(parts) + "\n"


def _live(live: Mapping[str, Any]) -> str:
    """What the live path promises, and what was measured."""
    slow, growth, auto = live["slow_engine"], live["growth"], live["automatic_size"]
    switching = live["switching_frames"]
    width, height = auto["size"]
    lines = [
        ("from start to the first styled picture", f"{max(live['start_seconds']):.1f} s"),
        (
            f"oldest picture painted, 60 fps into an engine of {slow['engine_frame_ms']:.0f} ms",
            f"{slow['shown_age_max_ms']:.0f} ms, "
            f"{slow['shown_age_max_engine_frames']:.2f} engine frames",
        ),
        (
            "the same, just before the next picture replaces it",
            f"{slow['replaced_age_max_ms']:.0f} ms, "
            f"{slow['replaced_age_max_engine_frames']:.2f} engine frames",
        ),
        ("longest the window did not answer, meanwhile", f"{slow['blocked_ms']:.0f} ms"),
        (f"memory gained over {growth['frames']} frames", f"{growth['grown_mb']:.1f} MB"),
        (
            f"frames made with the old choice after changing {', '.join(switching)}",
            ", ".join(str(count) for count in switching.values()),
        ),
        (
            f"automatic size for 640x480, within {auto['budget_ms']:.0f} ms",
            f"{width}x{height}, {auto['fps']:.1f} fps",
        ),
        (
            "capture to paint at that size, median and p95",
            f"{auto['latency_median_ms']:.0f} and {auto['latency_p95_ms']:.0f} ms",
        ),
    ]
    rows = [("", "measured"), ("---", "---:"), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


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
        write_whole(path, text.encode())
    return 0


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["title"],
        row["precision"],
        _ms(row["median_ms"]),
        f"{_ms(row['p20_ms'])}-{_ms(row['p80_ms'])}",
        _times(row["kernels_gain"]),
        _times(row["precision_gain"]),
        f"{row['difference']:.2g}",
        "-" if row["psnr"] is None else f"{row['psnr']:.0f}",
        "-" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}",
    )


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


if __name__ == "__main__":
    sys.exit(main())
