"""A speed test's result in words: its conditions, its rows and its machine."""

from __future__ import annotations

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
    return number(row.latency.median, 2 if row.latency.median < 10 else 1)


def rate(row: Row) -> str:
    """Return the pictures a second, without the unit; "" if unmeasured."""
    return "" if row.latency is None else number(row.latency.fps, 1)


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
        tr("{fps} fps", fps=rate(row)),
    ]
    if row.ratio is not None:
        parts.append(
            tr("{ratio} times as fast as {other}", ratio=number(row.ratio, 2), other=row.beside)
        )
    if row.differs:
        parts.append(tr("its picture differs, so the ratio is withheld"))
    return labeled(row.title, enumerated(parts))


def as_text(result: SpeedResult) -> str:
    """Return the whole result as lines, to be shared."""
    machine = result.machine
    unmeasured = [row for row in result.rows if row.latency is None]
    return "\n".join(
        (
            tr("StyleForge speed test"),
            conditions(result),
            tr("Median time of a picture, from memory to memory"),
            "",
            *map(told, (*result.measured, *unmeasured)),
            "",
            sentences(enumerated((machine.processor, *machine.gpus)), machine.system),
            enumerated(machine.versions),
        )
    )
