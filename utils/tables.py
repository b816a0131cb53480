"""Formats stored benchmark reports as Markdown, and fills them into docs/benchmarks.md.

A block `<!-- figures: ../benchmarks/cpu.json -->` ... `<!-- end of figures -->` is replaced by the
report it names, relative to the page: `python -m utils.tables docs/benchmarks.md`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.files.atomic import atomic_write
from utils.text import printable

BLOCK = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
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

TRAINED = ("full", "lite")  # the networks of a style; any other is one for every style

# Explanations of columns, each given if one of its columns is in the tables.
LEGENDS = (
    (
        {"full", "lite"},
        "*Full*, *lite* and *L-BFGS* are values of the training objective, computed on results "
        "clamped to 0-255 and rounded; lower is better. *L-BFGS* optimizes the pixels of the "
        "photograph directly for the given number of iterations. *Full there* is the full network "
        "on the photographs that were optimized this way. *Equals* is the number of iterations "
        "after which L-BFGS reaches the objective of the full network, and *from noise* is the "
        "same with white noise as the initial image, as in Johnson et al.",
    ),
    (
        {"clipped", "frame"},
        "*Clipped* is the fraction of pixels with a channel at 0 or 255. *Frame* is how much "
        "brighter the outermost 4 pixels are than the next ones, on a scale of 255, minus the same "
        "difference in the photograph.",
    ),
    ({"FP16 dB", "BF16 dB"}, "*FP16 dB* and *BF16 dB* are the lowest PSNR relative to FP32."),
    (
        {"still", "panned"},
        "*Still* and *panned* are flicker with a static and a panning camera: the mean "
        "motion-compensated difference of consecutive results, divided by that of the noisy input "
        "frames.",
    ),
    (
        {"style term, full"},
        "*Style term* is the relative style loss of the style's own training, of the result as the "
        "network gives it; the other networks never saw the style.",
    ),
    (
        {"still, without", "panned, without"},
        "*Without* is the same style trained without the stability loss.",
    ),
)


def table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the rows of `bench`.

    Args:
        rows: As in a stored report.

    Returns:
        The header and a line per row that was run, without columns that are empty in all of them.
    """
    lines = [_cells(row) for row in rows if not row.get("not_run")]
    return _without_empty_columns((COLUMNS, *lines))


def notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say why rows were not run, one sentence each."""
    return [
        f"{row['title']}, {row['precision']}: {row['not_run']}"
        for row in rows
        if row.get("not_run")
    ]


def frames_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the times of whole frames, pipelined and one by one.

    Args:
        rows: As in a stored report of `bench --frames`, one per size and precision.

    Returns:
        The header and a line per row.
    """
    header = (
        "frames", "precision", "a second, overlapped", "ms between two", "p20-p80", "p95",
        "ms for one alone", "p20-p80", "p95",
    )  # fmt: skip
    lines = [
        (
            f"{row['width']}x{row['height']}",
            row["precision"],
            f"{row['fps']:.0f}",
            *_spread(row["interval"]),
            *_spread(row["latency"]),
        )
        for row in rows
    ]
    return [header, *lines]


def window_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the streams through the window, from a source that is never waited for.

    Args:
        rows: As in a report of app.ui.window_benchmark, one per size and choice of controls.

    Returns:
        The header and a line per row.
    """
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
    """Format the times of the any-style network's painter.

    Args:
        rows: As in a report of tests.models.inference.vit.measure_painter, one per variant, size
            and precision. The fastest of PyTorch's layouts counts; what failed has no figure.

    Returns:
        The header and a line per row, without columns that are empty in all of them.
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
                _figure(row.get("error", {}).get("plan")),
                "-" if bits is None else "yes" if bits else "no",
            )
        )
    return _without_empty_columns((header, *lines))


def where(report: Mapping[str, Any]) -> str:
    """Describe the machine, its software and the date of a report in one line."""
    machine, versions = report["machine"], report["versions"]
    device = machine["gpu"] or f"{machine['cpu']}, {machine['threads']} threads"
    software = f"PyTorch {versions['torch']}, Python {versions['python']}"
    what = [report["style"], f"{report['runs']} runs"] if "runs" in report else []
    commit = [f"commit {_short(report['commit'])}"] if report["commit"] else []
    return "; ".join([device, software, *what, report["taken"], *commit])


def _short(commit: str) -> str:
    """Shorten a commit to twelve digits, and keep the + that marks changed files."""
    return commit[:12] + commit[12:].lstrip("0123456789abcdef")


def markdown(report: Mapping[str, Any]) -> str:
    """Format a report of any kind.

    Args:
        report: A stored report: of `bench`, `bench --frames`, `quality`, the live path, the
            window or the any-style network.

    Returns:
        A line about the machine, then the tables.
    """
    if "live" in report:
        return f"{where(report)}\n\n{_live(report['live'])}\n"
    if "window" in report:
        return f"{where(report)}\n\n{_markdown_table(window_table(report['window']))}\n"
    if "quality" in report:
        return f"{where(report)}\n\n{quality_markdown(report['quality'])}\n"
    if "any_style" in report:
        return f"{where(report)}\n\n{_markdown_table(any_style_table(report['any_style']))}\n"
    if "frames" in report:
        return f"{where(report)}\n\n{_markdown_table(frames_table(report['frames']))}\n"
    parts = [where(report)]
    for size in report["sizes"]:
        parts.append(f"**{size['width']}x{size['height']}**")
        parts.append(_markdown_table(table(size["rows"])))
        parts += [f"Not run: {note}." for note in notes(size["rows"])]
    return "\n\n".join(parts) + "\n"


def _markdown_table(lines: Sequence[tuple[str, ...]]) -> str:
    """Format a table: two columns of text, aligned left, the others of figures."""
    header, *rows = lines
    rule = ["---", "---", *["---:"] * (len(header) - 2)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *rows))


def _live(live: Mapping[str, Any]) -> str:
    """Tabulate the figures of the live path."""
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


def quality_markdown(quality: Mapping[str, Any]) -> str:
    """Format the metrics of styles.

    Args:
        quality: The section of that name in a stored report of `quality`.

    Returns:
        How they were measured, a table of objectives, borders and precisions, one of flicker, and
        one that compares any-style networks with the trained ones, if some were measured.
    """
    names = ", ".join(Path(photograph["name"]).stem for photograph in quality["photographs"])
    frames, direct = quality["flicker"], quality["direct"]
    count = len(quality["photographs"])
    smallest = min(max(photograph["original"]) for photograph in quality["photographs"])
    enlarged = f", enlarged from {smallest}" if smallest < quality["size"] else ""
    noun = "photograph" if count == 1 else "photographs"
    conditions = [f"{count} {noun} with a long side of {quality['size']} px{enlarged}: {names}"]
    if direct["photographs"] not in (0, count):
        conditions.append(f"L-BFGS on the first {direct['photographs']}")
    if frames["photographs"]:
        conditions.append(
            f"flicker on the first {frames['photographs']}, {frames['frames']} frames with noise "
            f"of sigma {frames['sigma']:g} on a scale of 255"
        )
    styles = quality["styles"]
    tables = [
        _without_empty_columns(lines)
        for lines in (
            _objective_lines(styles, direct),
            _flicker_lines(styles),
            _any_style_lines(styles),
        )
    ]
    columns = {name for header, *_ in tables for name in header}
    legend = " ".join(text for explained, text in LEGENDS if explained & columns)
    parts = [f"{'; '.join(conditions)}.", legend]
    for header, *lines in tables:
        if len(header) > 1:
            rule = ["---", *["---:"] * (len(header) - 1)]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines)))
    parts += [
        f"Not run: {style['title']}, {row['network']}, {row['precision']}: {row['not_run']}."
        for style in styles
        for row in style["networks"]
        if row.get("not_run")
    ]
    return "\n\n".join(parts)


def _objective_lines(
    styles: Sequence[Mapping[str, Any]], direct: Mapping[str, Any]
) -> list[list[str]]:
    """The header and a line per style: objectives, clipped pixels, the border, and PSNR."""
    iterations, some = direct["iterations"], direct["photographs"]
    steps = [f"L-BFGS {count}" for count in iterations]
    header = [
        "style", "full", "lite", "full there", *steps, "equals", "from noise", "clipped", "frame",
        "FP16 dB", "BF16 dB",
    ]  # fmt: skip
    lines = [header]
    for style in styles:
        full, lite = (_row(style, network, "FP32") for network in ("full", "lite"))
        reached = {row["iterations"]: row["objective"] for row in style.get("direct", [])}
        lines.append(
            [
                style["title"],
                _figure(full.get("seen")),
                _figure(lite.get("seen")),
                _figure(_mean([one["seen"] for one in full.get("each", [])[:some]])),
                *(_figure(reached.get(count)) for count in iterations),
                *(_count(full, name, iterations) for name in ("equals", "equals_from_noise")),
                "-" if "clipped" not in full else f"{full['clipped']:.1%}",
                "-" if "step" not in full else f"{full['step']:+.1f}",
                *(
                    _figure(_row(style, "full", title).get("psnr_min"), 1)
                    for title in ("FP16", "BF16")
                ),
            ]
        )
    return lines


def _any_style_lines(styles: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The header and a line per style: the style term and the flicker of the trained network and of
    any-style networks beside it; the header alone if there are none."""
    found = {row["network"]: None for style in styles for row in style["networks"]}
    others = [name for name in found if name not in TRAINED]
    header = ["style"]
    if not others:
        return [header]
    networks = [name for name in found if name == "full"] + others
    figures = {"style": "style term", "still": "still", "panned": "panned"}
    header += [f"{said}, {name}" for said in figures.values() for name in networks]
    lines = [header]
    for style in styles:
        rows = [_row(style, name, "FP32") for name in networks]
        lines.append([style["title"], *(_figure(row.get(key)) for key in figures for row in rows)])
    means = [
        _figure(_mean([row[key] for row in rows if row.get(key) is not None]))
        for key in figures
        for rows in ([_row(style, name, "FP32") for style in styles] for name in networks)
    ]
    return [*lines, ["mean", *means]]


def _count(row: Mapping[str, Any], name: str, iterations: Sequence[int]) -> str:
    """The number of iterations after which L-BFGS reaches the objective of a network."""
    beyond = name in row and row[name] is None and iterations
    return f"over {iterations[-1]}" if beyond else _figure(row.get(name), 0)


def _flicker_lines(styles: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The header and a line per style: its flicker, and that of the same style trained without
    the stability loss."""
    lines = [["style"]]
    for name in ("still", "panned"):
        lines[0] += [f"{name}, without", name, "ratio", f"{name}, lite"]
    for style in styles:
        full, lite = (_row(style, network, "FP32") for network in ("full", "lite"))
        line = [style["title"]]
        for name in ("still", "panned"):
            before, after = style.get("without", {}).get(name), full.get(name)
            ratio = after / before if before and after is not None else None
            line += [_figure(value) for value in (before, after, ratio, lite.get(name))]
        lines.append(line)
    return lines


def _row(style: Mapping[str, Any], network: str, precision: str) -> Mapping[str, Any]:
    """Find the row of a network at a precision; empty if it was not measured."""
    for row in style["networks"]:
        if (row["network"], row["precision"]) == (network, precision):
            return row
    return {}


def _without_empty_columns(lines: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Drop the columns that are "-" in every row."""
    header, *rows = lines
    kept = [n for n in range(len(header)) if any(row[n] != "-" for row in rows)]
    return [tuple(line[n] for n in kept) for line in (header, *rows)]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _figure(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def refreshed(text: str, folder: Path) -> str:
    """Fill every block of figures in a page.

    Args:
        text: The page.
        folder: To which the paths of the reports are relative.

    Raises:
        OSError: A report cannot be read.
        ValueError: A report is damaged.
    """

    def fill(match: re.Match[str]) -> str:
        report = json.loads((folder / match[2]).read_text("utf-8"))
        return f"{match[1]}{_filled(match[2], report)}{match[3]}"

    return BLOCK.sub(fill, text)


def _filled(name: str, report: Any) -> str:
    """Format a report that was read from a file; ValueError if it is none."""
    try:
        text = markdown(report)
        text.encode()  # raises for lone surrogates, which cannot be written
    except (TypeError, AttributeError, LookupError, ArithmeticError, ValueError) as exc:
        raise ValueError(f"{name} is not a report ({type(exc).__name__}: {exc})") from exc
    return text


def main(argv: Sequence[str] | None = None) -> int:
    """Refresh the pages named on the command line.

    Returns:
        The exit code: 1 if a report is missing or damaged.
    """
    for name in sys.argv[1:] if argv is None else argv:
        path = Path(name)
        try:
            text = refreshed(path.read_text("utf-8"), path.parent)
        except (OSError, ValueError, RecursionError) as exc:
            sys.stderr.write(f"{path} was left as it is: {printable(str(exc))}\n")
            return 1
        atomic_write(path, text.encode())
    return 0


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The cells of a row; reports of older versions lack some columns."""
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


if __name__ == "__main__":
    sys.exit(main())
