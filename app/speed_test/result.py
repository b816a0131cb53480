"""The results of a speed test, values that may cross threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.engine.result import LatencyStats, StyledFrame
from app.speed_test.layers import LayerTable
from app.speed_test.machine import Machine
from models.precision import Precision
from utils.translation.texts import mark, tr

OURS, PLAIN, COMPILED = "StyleForge", mark("Plain PyTorch"), "torch.compile"
NOT_INSTALLED = mark("not installed")


@dataclass(frozen=True, slots=True)
class Row:
    """An engine on a device, with its time or the reason why it has none.

    Attributes:
        title: Names the engine and the device: "StyleForge, CPU".
        ours: Whether it is an engine of StyleForge.
        latency: The times of a picture in ms; None if it was not measured, or not yet.
        reason: Why it was not measured, a clause; "" if it was, or will be.
        detail: The remedy or a longer reason; "" for none.
        ratio: The time of the row `beside` divided by this one's, which may be below 1. None if
            there is no such row, if it is this one, or if their pictures differ.
        beside: The title of the plain PyTorch row that `ratio` compares with.
        differs: Whether its picture differs from that row's by more than the precision allows.
    """

    title: str
    ours: bool = False
    latency: LatencyStats | None = None
    reason: str = ""
    detail: str = ""
    ratio: float | None = None
    beside: str = ""
    differs: bool = False


@dataclass(frozen=True, slots=True)
class SpeedResult:
    """The rows of a speed test, and their common conditions.

    Attributes:
        size: (width, height) of the networks' input.
        style: The title of the style, or of the mix.
        lite: Whether the fast version of the style was measured.
        layers: The times by layer, for each device that ran plain PyTorch and StyleForge.
    """

    rows: tuple[Row, ...]
    size: tuple[int, int]
    precision: Precision
    style: str
    lite: bool
    machine: Machine
    layers: tuple[LayerTable, ...] = ()

    @property
    def measured(self) -> tuple[Row, ...]:
        """The rows with a time, the fastest first."""
        timed = [(row.latency.median, row) for row in self.rows if row.latency is not None]
        return tuple(row for _, row in sorted(timed, key=lambda pair: pair[0]))


def live_result(styled: StyledFrame, machine: Machine) -> SpeedResult:
    """Return the comparison of a stream as a result of two rows.

    Raises:
        ValueError: If the frame has no comparison.
    """
    comparison = styled.comparison
    if comparison is None:
        raise ValueError("only a frame of a comparison has the times of two networks")
    device = styled.running.device
    titles = [
        tr("{engine}, {device}", engine=engine_title(title), device=device)
        for title in (comparison.baseline_title, comparison.fused_title)
    ]
    reference = Row(titles[0], latency=comparison.baseline_latency)
    other = Row(
        titles[1],
        ours=True,
        latency=comparison.fused_latency,
        ratio=comparison.ratio,
        beside=titles[0],
        differs=not comparison.agrees,
    )
    return SpeedResult(
        (other, reference),
        comparison.size,
        comparison.precision,
        styled.running.style,
        styled.running.lite,
        machine,
    )


def engine_title(title: str) -> str:
    """Return the name that users know an engine by: our variants have plain names."""
    return {"Baseline": tr(PLAIN), "Fused": OURS}.get(title, title)


def replaced(rows: Sequence[Row], number: int, **changes: object) -> tuple[Row, ...]:
    """Return `rows` with changed fields in row `number`."""
    changed = replace(rows[number], **changes)  # pyright: ignore[reportArgumentType]
    return (*rows[:number], changed, *rows[number + 1 :])
