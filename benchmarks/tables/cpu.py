"""Formats the suite of a processor: ways by size, and each layer beside its floor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.tables.cells import figure, markdown_table, milliseconds, times

FUSED, BY_LAYERS = "fused", "layers"  # keys of benchmarks.network.cpu.variants
OF_ONEDNN, AHEAD = "ours, of the time with oneDNN", "ours, times the fastest other's speed"
OUR_PEAK, ITS_PEAK = "peak memory, ours, MB", "peak memory, with oneDNN, MB"


def cpu_tables(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of ways and sizes for each network, then one of its layers, in Markdown."""
    rate = report["products_per_second"]
    runtimes = ", ".join(f"{name} {found}" for name, found in report["runtimes"].items())
    measured = "" if rate is None else f", which multiplies {rate / 1e9:.0f} * 10^9 times a second"
    yield f"With {runtimes} on this processor{measured}."
    for network, sizes in report["cpu"].items():
        yield f"**{network.capitalize()} network**"
        yield markdown_table(ways_table(sizes), left=1)
        yield from (f"Not run at {note}." for note in ways_notes(sizes))
        for size in sizes:
            yield f"**{network.capitalize()} network, {_title(size)}, by layer**"
            yield markdown_table(layers_table(size), left=1)


def ways_table(sizes: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return medians and minima in ms by way and size, and how ours compare."""
    header = ["", *(f"{_title(size)}, median (min) ms" for size in sizes), "difference", "PSNR"]
    lines = [tuple(header)]
    for row in sizes[0]["rows"]:
        same = [_row(size, row["kernels"]) for size in sizes]
        errors = [each["difference"] for each in same if "difference" in each]
        ratios = [each["psnr"] for each in same if each.get("psnr") is not None]
        lines.append(
            (
                row["title"],
                *map(_time, same),
                f"{max(errors):.2g}" if errors else "-",
                f"{min(ratios):.0f}" if ratios else "-",
            )
        )
    compared = [summary(size["rows"]) for size in sizes]
    lines += [
        (OF_ONEDNN, *(figure(c["of_before"]) for c in compared), "-", "-"),
        (AHEAD, *(times(c["ahead"]) for c in compared), "-", "-"),
        (OUR_PEAK, *(f"{size['peak_mb'][FUSED]:.0f}" for size in sizes), "-", "-"),
        (
            ITS_PEAK,
            *(f"{size['peak_mb'][BY_LAYERS]:.0f}" for size in sizes),
            *("-", "-"),
        ),
    ]
    return lines


def ways_notes(sizes: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{_title(size)}: {row['title']}: {row['not_run']}"
        for size in sizes
        for row in size["rows"]
        if row.get("not_run")
    ]


def layers_table(size: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each layer: its time, share, time before and floor."""
    rows = size["layers"]
    total: dict[str, Any] = {"layer": "all"}
    for key in ("median_ms", "before_median_ms", "products"):
        total[key] = sum(row[key] for row in rows)
    floors = [row["floor_ms"] for row in rows]
    total["floor_ms"] = None if None in floors else sum(floors)
    lines: list[tuple[str, ...]] = [
        ("layer", "median ms", "share", "with oneDNN", "times faster", "10^9 products",
         "floor ms", "% of floor"),
    ]  # fmt: skip
    lines += [
        (
            row["layer"],
            milliseconds(row["median_ms"]),
            f"{100 * row['median_ms'] / total['median_ms']:.0f} %",
            milliseconds(row["before_median_ms"]),
            times(row["before_median_ms"] / row["median_ms"]),
            f"{row['products'] / 1e9:.2f}",
            milliseconds(row["floor_ms"]),
            "-" if row["floor_ms"] is None else f"{100 * row['floor_ms'] / row['median_ms']:.0f} %",
        )
        for row in (*rows, total)
    ]
    return lines


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Compare our median with the one before, and with the fastest other way's."""
    medians = {row["kernels"]: row["median_ms"] for row in rows if "median_ms" in row}
    ours = medians.get(FUSED)
    others = [ms for key, ms in medians.items() if key not in (FUSED, BY_LAYERS)]
    return {
        "of_before": ours / medians[BY_LAYERS] if ours and BY_LAYERS in medians else None,
        "ahead": min(others) / ours if ours and others else None,
    }


def _row(size: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    missing: dict[str, Any] = {}
    return next((row for row in size["rows"] if row["kernels"] == key), missing)


def _time(row: Mapping[str, Any]) -> str:
    if "median_ms" not in row:
        return "-"
    return f"{milliseconds(row['median_ms'])} ({milliseconds(row['min_ms'])})"


def _title(size: Mapping[str, Any]) -> str:
    return f"{size['width']}x{size['height']}"
