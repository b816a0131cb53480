"""Formats stored benchmark reports as Markdown, and fills them into docs/benchmarks.md.

A block `<!-- figures: ../benchmarks/reports/cpu.json -->` ... `<!-- end of figures -->` is replaced
by the report it names, relative to the page: `python -m benchmarks.tables docs/benchmarks.md`. A
block that begins with `<!-- figures if measured: ` states so if the report does not exist.
Operations may name a second report, with the compiler's times:
`<!-- figures: cuda.json and compiled.json -->`.

`python -m benchmarks.tables benchmarks/reports/cpu.json` prints the tables of a report.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.tables.library import conversion_table, library_table
from benchmarks.tables.library_page import error_table, group_tables, not_finite, slower
from benchmarks.tables.quality import figure, quality_markdown, without_empty_columns
from utils.files.atomic import atomic_write
from utils.text import printable

BLOCK = re.compile(
    r"(<!-- figures(?: if measured)?: (\S+)(?: and (\S+))? -->\n).*?(<!-- end of figures -->)",
    re.DOTALL,
)
COLUMNS = (
    "kernels",
    "precision",
    "median ms",
    "p20-p80",
    "vs baseline",
    "vs PyTorch",
    "vs FP32",
    "% of floor",
    "difference",
    "PSNR",
    "peak MB",
)


def table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    lines = [_cells(row) for row in rows if not row.get("not_run")]
    return without_empty_columns((COLUMNS, *lines))


def notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{row['title']}, {row['precision']}: {row['not_run']}"
        for row in rows
        if row.get("not_run")
    ]


def frames_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the times of whole frames, pipelined and one by one, of `bench --frames`."""
    header = (
        "frames", "precision", "a second, overlapped", "ms between two", "p20-p80", "p95",
        "ms for one alone", "p20-p80", "p95", "on the GPU, ms between two", "with texture", "more",
    )  # fmt: skip
    lines = [
        (
            f"{row['width']}x{row['height']}",
            row["precision"],
            f"{row['fps']:.0f}",
            *_spread(row["interval"]),
            *_spread(row["latency"]),
            *_with_texture(row.get("texture")),
        )
        for row in rows
    ]
    return without_empty_columns((header, *lines))


def _with_texture(found: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if found is None:
        return "-", "-", "-"
    off, on = (found[name]["median_ms"] for name in ("off", "on"))
    return f"{off:.3g}", f"{on:.3g}", f"{on / off - 1:+.1%}"


def dropped_sentence(seconds: Sequence[float]) -> str:
    """Return a sentence on how long dropped pictures took to become the style on screen.

    It names the first time and the range of the others.
    """
    first, *others = seconds
    later = f", the next {min(others):.2f} to {max(others):.2f} s" if others else ""
    return (
        "From dropping a picture on the gallery until a frame in its style is there: the first "
        f"{first:.2f} s{later}."
    )


def window_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the streams of benchmarks.live.window, from a source that never makes it wait."""
    header = (
        *("frames", "controls", "styled a second", "painted a second"),
        *("ms from capture to paint", "p95", "engine", "deliver", "paint"),
    )
    lines = [
        (
            "x".join(map(str, row["size"])),
            row["controls"],
            f"{row['processed_fps']:.0f}",
            f"{row['displayed_fps']:.0f}",
            f"{row['latency_ms']:.1f}",
            f"{row['latency_p95_ms']:.1f}",
            f"{row['latency_ms'] / row['engine_frames']:.2f}",
            f"{row['deliver_ms']:.2f}",
            f"{row['paint_ms']:.2f}",
        )
        for row in rows
    ]
    return [header, *lines]


def any_style_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the times of the any-style painter (benchmarks.any_style).

    The fastest of PyTorch's layouts counts; a failed run has no figure, an empty column goes.
    """
    ways = ("plan", "plan, PyTorch's ends", "eager", "eager in a graph", "compiled in a graph")
    header = (
        *("network", "frames", "precision", *(f"{way}, ms" for way in ways)),
        *("vs eager", "vs compiled", "error", "equal bits"),
    )
    lines: list[tuple[str, ...]] = []
    for row in rows:
        times: list[float | None] = []
        for way in ways:
            found = [row["ms"].get(name) for name in (way, f"{way}, channels last")]
            times.append(min((ms for ms in found if ms is not None), default=None))
        plan, _, eager, _, compiled = times
        gains = [None if not (ms and plan) else ms / plan for ms in (eager, compiled)]
        bits = row.get("bit-equal", {}).get("plan")
        lines.append(
            (
                *(row[name] for name in ("variant", "size", "precision")),
                *("-" if ms is None else _ms(ms) for ms in times),
                *map(_times, gains),
                figure(row.get("error", {}).get("plan")),
                "-" if bits is None else "yes" if bits else "no",
            )
        )
    return without_empty_columns((header, *lines))


def devices_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the gains of several devices over one, by benchmarks.devices."""
    header = (
        *("what", "size", "precision", "kernels", "one, a second", "all, a second"),
        *("gain", "what limits one", "what limits all"),
    )
    lines = [
        (
            f"{row['count']} {'pictures' if row['of'] == 'pictures' else 'frames of a film'}",
            "x".join(map(str, row["size"])),
            *(row["precision"], row["kernels"]),
            *(f"{run['per_second']:.0f}" for run in row["runs"]),
            f"{row['gain']:.2f}x",
            *(run.get("limit") or "-" for run in row["runs"]),
        )
        for row in rows
    ]
    return [header, *lines]


def where(report: Mapping[str, Any]) -> str:
    """Describe the machine, its software and the date of a report in one line."""
    machine, versions = report["machine"], report["versions"]
    device = machine["gpu"] or f"{machine['cpu']}, {machine['threads']} threads"
    software = f"PyTorch {versions['torch']}, Python {versions['python']}"
    what = [report["style"], f"{report['runs']} runs"] if "runs" in report else []
    commit = [f"commit {_short(report['commit'])}"] if report["commit"] else []
    return "; ".join([device, software, *what, report["taken"], *commit])


def _short(commit: str) -> str:
    """Shorten a commit to twelve digits, and preserve the + that marks changed files."""
    return commit[:12] + commit[12:].lstrip("0123456789abcdef")


def markdown(report: Mapping[str, Any]) -> str:
    """Format a stored report of any kind: a line about the machine, then the tables."""
    if "live" in report:
        return f"{where(report)}\n\n{_live(report['live'])}\n"
    if "window" in report:
        parts = [where(report), _markdown_table(window_table(report["window"]))]
        if report.get("dropped_s"):
            parts.append(dropped_sentence(report["dropped_s"]))
        return "\n\n".join(parts) + "\n"
    if "quality" in report:
        return f"{where(report)}\n\n{quality_markdown(report['quality'])}\n"
    if "any_style" in report:
        return f"{where(report)}\n\n{_markdown_table(any_style_table(report['any_style']))}\n"
    if "library" in report:
        lines = without_empty_columns(library_table(report["library"]))
        return f"{where(report)}{_cut(report)}\n\n{_markdown_table(lines)}\n"
    if "conversion" in report:
        return f"{where(report)}\n\n{_markdown_table(conversion_table(report['conversion']))}\n"
    if "devices" in report:
        return f"{where(report)}\n\n{_markdown_table(devices_table(report['devices']))}\n"
    if "frames" in report:
        return f"{where(report)}\n\n{_markdown_table(frames_table(report['frames']))}\n"
    parts = [where(report)]
    for size in report["sizes"]:
        parts.append(f"**{size['width']}x{size['height']}**")
        parts.append(_markdown_table(table(size["rows"])))
        parts += [f"Not run: {note}." for note in notes(size["rows"])]
    return "\n\n".join(parts) + "\n"


def library_summary(report: Mapping[str, Any], compiled: Mapping[str, Any] | None = None) -> str:
    """Format a report of operations with one table per group, for a page.

    `compiled` is a report with the compiler's times, if `report` has none.
    """
    parts = [f"{where(report)}.{_cut(report)} {slower(report)}"]
    if compiled is not None:
        parts.append(f"Compiler: {where(compiled)}.{_cut(compiled)} {slower(compiled)}")
    for title, lines in group_tables(report, compiled):
        parts += [f"**{title}**", _markdown_table(lines)]
    parts += ["**Errors**", _markdown_table(error_table(report)), *not_finite(report)]
    return "\n\n".join(parts) + "\n"


def _cut(report: Mapping[str, Any]) -> str:
    return f" The run was cut: {report['incomplete']}." if "incomplete" in report else ""


def _markdown_table(lines: Sequence[tuple[str, ...]]) -> str:
    header, *rows = lines
    rule = ["---", "---", *["---:"] * (len(header) - 2)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *rows))


def _live(live: Mapping[str, Any]) -> str:
    slow, growth, auto = live["slow_engine"], live["growth"], live["automatic_size"]
    switching, cards = live["switching_frames"], live["gallery"]
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
        (
            f"from opening a picture to all {cards['cards']} cards painted in its styles",
            f"{cards['filled_s']:.1f} s, the window answered within {cards['blocked_ms']:.0f} ms",
        ),
        (
            f"cards painted in {cards['seconds']:.0f} s beside a stream of 60 fps",
            f"{cards['streamed']}, {100 * cards['share']:.1f} % of its time, "
            f"the window answered within {cards['stream_blocked_ms']:.0f} ms",
        ),
        (
            f"memory gained over {growth['frames']} frames, in their first and second half",
            f"{growth['half_mb'] - growth['first_mb']:.1f} and "
            f"{growth['last_mb'] - growth['half_mb']:.1f} MB",
        ),
        (
            f"frames made with the old choice after changing {', '.join(switching)}",
            ", ".join(str(count) for count in switching.values()),
        ),
        (
            f"automatic size for 640x480, within {auto['budget_ms']:.0f} ms",
            f"{width}x{height}, {auto['fps']:.1f} fps",
        ),
        (
            "changes of that size: in the first 20 s, in the next 60 s, in 60 s beside a compiler",
            f"{auto['changes_first_20_s']}, {auto['changes_next_60_s']}, "
            f"{auto['changes_a_minute_beside_compiler']}",
        ),
        (
            "capture to paint at that size, median and p95",
            f"{auto['latency_median_ms']:.0f} and {auto['latency_p95_ms']:.0f} ms",
        ),
    ]
    if rates := live.get("engine_fps"):
        label = f"engine alone, FP32, 320x240, {' and '.join(rates)} network"
        lines.append((label, " and ".join(f"{rate:.1f} fps" for rate in rates.values())))
    rows = [("", "measured"), ("---", "---:"), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


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
def _damage_told(name: str) -> Iterator[None]:
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


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row; reports of older versions lack some columns."""
    floor = row.get("floor_ms")
    return (
        row["title"],
        row["precision"],
        _ms(row["median_ms"]),
        f"{_ms(row['p20_ms'])}-{_ms(row['p80_ms'])}",
        _times(row["kernels_gain"]),
        _times(row.get("pytorch_gain")),
        _times(row["precision_gain"]),
        "-" if floor is None else f"{100 * floor / row['median_ms']:.0f} %",
        f"{row['difference']:.2g}",
        "-" if row["psnr"] is None else f"{row['psnr']:.0f}",
        "-" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}",
    )


def _spread(times: Mapping[str, float]) -> tuple[str, str, str]:
    median, p20, p80, p95 = (_ms(times[f"{name}_ms"]) for name in ("median", "p20", "p80", "p95"))
    return median, f"{p20}-{p80}", p95


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"
