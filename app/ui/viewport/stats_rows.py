"""What the overlay says: labels and texts of rates, latency and timings, without a widget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.engine.result import StyledFrame, Timings
from app.live.stream_metrics import StreamStats
from kernels.network.graph_plan import group_of

_INDENT = "    "
_PARTS = {"network": "computing the style"}  # of what a stream is limited by


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the overlay; it is left out if `text` returns "".

    A `brief` row is also shown where space is scarce.
    """

    label: str
    text: Callable[[StreamStats, StyledFrame], str]
    brief: bool = False


def _fps(value: float) -> str:
    return f"{value:.1f} fps" if value else ""


def _ms(value: float) -> str:
    return f"{value:.1f} ms" if value >= 0.05 else ""


def _fine_ms(value: float) -> str:
    return f"{value:.3f} ms"  # on a GPU, a layer takes some microseconds


def _dropped(reading: StreamStats, _: StyledFrame) -> str:
    return f"{reading.dropped}" if reading.capture_fps or reading.dropped else ""


def _latency(reading: StreamStats, _: StyledFrame) -> str:
    if not reading.latency_ms:
        return ""
    return f"{reading.latency_ms:.0f} ms, p95 {reading.latency_p95_ms:.0f} ms"


def _network_size(_: StreamStats, styled: StyledFrame) -> str:
    return f"{styled.size[0]} x {styled.size[1]}"


ROWS: tuple[Row, ...] = (
    Row("Camera", lambda r, _: _fps(r.capture_fps), brief=True),
    Row("Styled", lambda r, _: _fps(r.processed_fps), brief=True),
    Row("Shown", lambda r, _: _fps(r.displayed_fps), brief=True),
    Row("Dropped", _dropped, brief=True),
    Row("Network input", _network_size, brief=True),
    Row("Read", lambda r, _: _ms(r.timings.read)),
    # From capture to paint, followed by its parts, which add up to it.
    Row("Delay", _latency, brief=True),
    Row("Wait", lambda r, _: _ms(r.timings.wait)),
    Row("Resize", lambda r, _: _ms(r.timings.resize)),
    Row("Upload", lambda r, _: _ms(r.timings.upload)),
    Row("Queue", lambda r, _: _ms(r.timings.queue)),
    Row("Network", lambda r, _: _ms(r.timings.network)),
    Row("Download", lambda r, _: _ms(r.timings.download)),
    Row("Blend", lambda r, _: _ms(r.timings.blend)),
    Row("Compare", lambda r, _: _ms(r.timings.comparison)),
    Row("Copy", lambda r, _: _ms(r.timings.copy)),
    Row("Other", lambda r, _: _ms(r.timings.other)),
    Row("Deliver", lambda r, _: _ms(r.deliver_ms)),
    Row("Paint", lambda r, _: _ms(r.paint_ms)),
    Row("Flicker", lambda r, _: str(r.flicker or "")),
)


def bottleneck_words(bottleneck: str) -> str:
    """Return "Slowed down by: computing the style" for "limited by the network"."""
    part = bottleneck.removeprefix("limited by the ")
    return f"Slowed down by: {_PARTS.get(part, part)}" if part else ""


def overlay_columns(
    reading: StreamStats, styled: StyledFrame, *, brief: bool = False, layers: bool = False
) -> list[list[tuple[str, str]]]:
    """Return (label, text) of every row that has a value, in one or two columns.

    A still picture keeps showing its own timings.

    Args:
        reading: of the stream.
        styled: the newest result.
        brief: whether to leave out all but the brief rows.
        layers: whether every layer is to be timed: the second column has them; where there are
            none, a row says why.
    """
    timings = reading.timings if reading.timings.total else styled.timings
    reading = replace(reading, timings=timings)
    compared = styled.comparison is not None
    second = _layer_rows(timings) if layers and not compared else []
    first: list[tuple[str, str]] = []
    for row in ROWS:
        if brief and not row.brief:
            continue
        if text := row.text(reading, styled):
            first.append((row.label, text))
        if row.label == "Network" and not second:
            first += [(_INDENT + name.capitalize(), _ms(value)) for name, value in timings.groups]
    if layers and not second:
        first.append(("Layers", "not timed while comparing" if compared else "not timed yet"))
    return [first, second] if second else [first]


def _layer_rows(timings: Timings) -> list[tuple[str, str]]:
    """The sum of the layers, then each group followed by its layers; empty if there are none."""
    if not timings.layers:
        return []
    made = [("Layers", _fine_ms(sum(value for _, value in timings.layers)))]
    for group, value in timings.groups:
        made.append((_INDENT + group.capitalize(), _fine_ms(value)))
        for name, spent in timings.layers:
            if group_of(name) == group:
                made.append((2 * _INDENT + name.removeprefix(f"{group}/"), _fine_ms(spent)))
    return made
