"""Labels and texts of the overlay: rates, latency and timings, without a widget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.engine.result import StyledFrame, Timings
from app.live.flicker import STILL, Flicker
from app.live.stream_metrics import ENGINE_PARTS, Bottleneck, StreamStats
from kernels.network.graph_plan import group_of
from utils.translation.numbers import number
from utils.translation.texts import mark, tr

_INDENT = "    "
# Possible bottlenecks: a part of the engine, the display, or the kind of source.
_PARTS = {
    "resize": mark("resizing", "bottleneck"),
    "upload": mark("upload", "bottleneck"),
    "network": mark("computing the style", "bottleneck"),
    "download": mark("download", "bottleneck"),
    "motion": mark("following the motion", "bottleneck"),
    "blend": mark("blending", "bottleneck"),
    "comparison": mark("comparison", "bottleneck"),
    "copy": mark("copies for the display", "bottleneck"),
    "other": mark("program around the engine", "bottleneck"),
    "display": mark("display", "bottleneck"),
    "camera": mark("camera", "bottleneck"),
    "network camera": mark("network camera", "bottleneck"),
    "video": mark("video", "bottleneck"),
    "scene": mark("scene", "bottleneck"),
}
# Layer groups of our networks. Groups of other networks keep their names, as all layers do.
_GROUPS = {
    "encoder": mark("Encoder", "figures"),
    "residual blocks": mark("Residual blocks", "figures"),
    "decoder": mark("Decoder", "figures"),
    "stem": mark("Stem", "figures"),
    "blocks": mark("Blocks", "figures"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the overlay, omitted if `text` returns ""; `brief` ones stay in little space."""

    label: str
    text: Callable[[StreamStats, StyledFrame], str]
    brief: bool = False


def _fps(value: float) -> str:
    return tr("{fps} fps", fps=number(value, 1)) if value else ""


def _ms(value: float) -> str:
    return tr("{ms} ms", ms=number(value, 1)) if value >= 0.05 else ""


def _fine_ms(value: float) -> str:
    return tr("{ms} ms", ms=number(value, 3))  # on a GPU, a layer takes a few microseconds


def _dropped(reading: StreamStats, _: StyledFrame) -> str:
    return f"{reading.dropped}" if reading.capture_fps or reading.dropped else ""


def _latency(reading: StreamStats, _: StyledFrame) -> str:
    if not reading.latency_ms:
        return ""
    median, p95 = number(reading.latency_ms), number(reading.latency_p95_ms)
    return tr("{median} ms, p95 {p95} ms", median=median, p95=p95)


def _network_size(_: StreamStats, styled: StyledFrame) -> str:
    return f"{styled.size[0]} x {styled.size[1]}"


def flicker_words(flicker: Flicker | None) -> str:
    """Return how much a stream flickers; "" if not measured."""
    if flicker is None:
        return ""
    if flicker.ratio is not None:
        return tr("{ratio} times the original's motion", ratio=number(flicker.ratio, 2))
    if flicker.output < STILL:
        return tr("none, nothing changes")
    return tr("{level} of 255, the source is still", level=number(flicker.output, 1))


ROWS: tuple[Row, ...] = (
    Row(mark("Camera", "figures"), lambda r, _: _fps(r.capture_fps), brief=True),
    Row(mark("Painted", "figures"), lambda r, _: _fps(r.painted_fps), brief=True),
    Row(mark("Shown", "figures"), lambda r, _: _fps(r.displayed_fps), brief=True),
    Row(mark("Dropped", "figures"), _dropped, brief=True),
    Row(mark("Network input", "figures"), _network_size, brief=True),
    Row(mark("Read", "figures"), lambda r, _: _ms(r.timings.read)),
    # The delay from capture to paint, followed by its parts, which add up to it.
    Row(mark("Delay", "figures"), _latency, brief=True),
    Row(mark("Wait", "figures"), lambda r, _: _ms(r.timings.wait)),
    Row(mark("Resize", "figures"), lambda r, _: _ms(r.timings.resize)),
    Row(mark("Upload", "figures"), lambda r, _: _ms(r.timings.upload)),
    Row(mark("Queue", "figures"), lambda r, _: _ms(r.timings.queue)),
    Row(mark("Network", "figures"), lambda r, _: _ms(r.timings.network)),
    Row(mark("Download", "figures"), lambda r, _: _ms(r.timings.download)),
    Row(mark("Motion", "figures"), lambda r, _: _ms(r.timings.motion)),
    Row(mark("Blend", "figures"), lambda r, _: _ms(r.timings.blend)),
    Row(mark("Compare", "figures"), lambda r, _: _ms(r.timings.comparison)),
    Row(mark("Copy", "figures"), lambda r, _: _ms(r.timings.copy)),
    Row(mark("Other", "figures"), lambda r, _: _ms(r.timings.other)),
    Row(mark("Deliver", "figures"), lambda r, _: _ms(r.deliver_ms)),
    Row(mark("Paint", "figures"), lambda r, _: _ms(r.paint_ms)),
    Row(mark("Flicker", "figures"), lambda r, _: flicker_words(r.flicker)),
)


def bottleneck_words(bottleneck: Bottleneck | None) -> str:
    """Return a bottleneck as "Slowed down by: computing the style"; "" if there is none."""
    if bottleneck is None:
        return ""
    part = tr(_PARTS[bottleneck.part], "bottleneck")
    if bottleneck.part in ENGINE_PARTS:
        return tr("Slowed down by: {part}", part=part)
    return tr("Slowed down by: {part}: {fps} fps", part=part, fps=number(bottleneck.fps))


def overlay_columns(
    reading: StreamStats, styled: StyledFrame, *, brief: bool = False, layers: bool = False
) -> list[list[tuple[str, str]]]:
    """Return (label, text) of every row that has a value, in one or two columns.

    A still picture keeps showing its own timings.

    Args:
        layers: Whether to return every layer's time, in a second column; if none was timed, a row
            in the first column tells why.
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
            first.append((tr(row.label, "figures"), text))
        if row.label == "Network" and not second:
            first += [(_group(name), _ms(value)) for name, value in timings.groups]
    if layers and not second:
        why = tr("not timed while comparing") if compared else tr("not timed yet")
        first.append((tr("Layers", "figures"), why))
    return [first, second] if second else [first]


def _layer_rows(timings: Timings) -> list[tuple[str, str]]:
    """Return the sum of the layers, then each group and its layers; empty if no layer was timed."""
    if not timings.layers:
        return []
    made = [(tr("Layers", "figures"), _fine_ms(sum(value for _, value in timings.layers)))]
    for group, value in timings.groups:
        made.append((_group(group), _fine_ms(value)))
        for name, spent in timings.layers:
            if group_of(name) == group:
                made.append((2 * _INDENT + name.removeprefix(f"{group}/"), _fine_ms(spent)))
    return made


def _group(name: str) -> str:
    return _INDENT + (tr(_GROUPS[name], "figures") if name in _GROUPS else name.capitalize())
