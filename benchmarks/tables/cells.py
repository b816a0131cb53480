"""Formats figures as cells, and lines of cells as tables of Markdown; "-" stands for no figure."""

from __future__ import annotations

from collections.abc import Sequence


def milliseconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def figure(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def scientific(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"


def without_empty_columns(lines: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Drop the columns that are "-" in every row."""
    header, *rows = lines
    kept = [n for n in range(len(header)) if any(row[n] != "-" for row in rows)]
    return [tuple(line[n] for n in kept) for line in (header, *rows)]


def markdown_table(lines: Sequence[Sequence[str]], left: int = 2) -> str:
    """Join a header and rows; the first `left` columns are left-aligned, the others right."""
    header, *rows = lines
    rule = [*["---"] * left, *["---:"] * (len(header) - left)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *rows))
