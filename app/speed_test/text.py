"""A speed test's result in words: its conditions, its rows and its machine."""

from __future__ import annotations

from app.engine.result import EQUAL
from app.speed_test.layers import LayerRow, LayerTable
from app.speed_test.result import Row, SpeedResult
from utils.translation.joints import enumerated, labeled, sentences
from utils.translation.numbers import number
from utils.translation.texts import tr

TIMES = "\N{MULTIPLICATION SIGN}"


def conditions(result: SpeedResult) -> str:
    """Return "1280x720, FP32, Candy, fine version"."""
    width, height = result.size
    version = tr("fast version") if result.lite else tr("fine version")
    return enumerated((f"{width}x{height}", result.precision.title, result.style, version))


def milliseconds(row: Row) -> str:
    """Return the median time of a picture in milliseconds, without the unit; "" if unmeasured."""
    if row.latency is None:
        return ""
    return fine(row.latency.median)


def rate(row: Row) -> str:
    """Return the pictures a second, without the unit; "" if unmeasured."""
    if row.latency is None:
        return ""
    return number(row.latency.fps, 1 if row.latency.fps >= 1 else 2)


def ratio(row: Row) -> str:
    """Return "2.42x" with a multiplication sign; "" if nothing is compared.

    Ratios below 1 are slower than plain PyTorch.
    """
    return "" if row.ratio is None else f"{number(row.ratio, 2)}{TIMES}"


def told(row: Row) -> str:
    """Return a row as one line."""
    if row.latency is None:
        return labeled(row.title, row.reason) if row.reason else row.title
    parts = [
        tr("{ms} ms", ms=milliseconds(row)),
        tr("{fps} fps", fps=rate(row))
        if row.latency.fps >= 1
        else tr("{s} s a picture", s=number(row.latency.median / 1e3, 1)),
    ]
    if row.ratio is not None and abs(row.ratio - 1) <= EQUAL:
        parts.append(tr("as fast as {other}", other=row.beside))
    elif row.ratio is not None:
        parts.append(
            tr("{ratio} times as fast as {other}", ratio=number(row.ratio, 2), other=row.beside)
        )
    if row.differs:
        parts.append(tr("its picture differs, so the ratio is withheld"))
    return labeled(row.title, enumerated(parts))


def layer_told(row: LayerRow) -> str:
    """Return a layer as one line."""
    times = tr(
        "plain PyTorch {plain} ms, StyleForge {ours} ms, {ratio} times as fast",
        plain=fine(row.plain_ms),
        ours=fine(row.ours_ms),
        ratio=number(row.ratio, 2),
    )
    return labeled(row.name, times)


def fine(ms: float) -> str:
    """Return a time in milliseconds, without the unit; short times have more decimals."""
    return number(ms, 2 if ms < 10 else 1)


def _layer_lines(table: LayerTable) -> tuple[str, ...]:
    title = tr("By layer, {device}", device=table.device)
    return (title, table.reason) if table.reason else (title, *map(layer_told, table.rows))


def as_text(result: SpeedResult) -> str:
    """Return the whole result as lines, to be shared."""
    machine = result.machine
    layers = [line for table in result.layers for line in ("", *_layer_lines(table))]
    unmeasured = [row for row in result.rows if row.latency is None]
    return "\n".join(
        (
            tr("StyleForge speed test"),
            conditions(result),
            tr("Median time of a picture, from memory to memory"),
            "",
            *map(told, (*result.measured, *unmeasured)),
            *layers,
            "",
            sentences(enumerated((machine.processor, *machine.gpus)), machine.system),
            enumerated(machine.versions),
        )
    )
