"""Formats the measurements of the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def live_table(live: Mapping[str, Any]) -> list[tuple[str, str]]:
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
    return [("", "measured"), *lines]


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


def processor_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the streams of benchmarks.live.processor: with the layers of before, and with ours."""
    header = (
        *("network", "input", "styled a second, with oneDNN", "with our kernels"),
        *("network's ms, with oneDNN", "with our kernels"),
        *("ms from capture to paint, with oneDNN", "with our kernels"),
    )
    lines = [
        (
            row["network"],
            f"{row['size']} px",
            *(f"{row[key]['processed_fps']:.1f}" for key in ("layers", "fused")),
            *(f"{row[key]['timings']['network']:.1f}" for key in ("layers", "fused")),
            *(f"{row[key]['latency_ms']:.0f}" for key in ("layers", "fused")),
        )
        for row in rows
    ]
    return [header, *lines]


def moving_table(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Format the streams of benchmarks.live.moving_stream."""
    header = (
        *("network", "input", "painted a second", "shown a second"),
        *("ms from capture to paint", "p95", "ms of motion in a frame"),
    )
    lines = [
        (
            row["network"],
            f"{row['size']} px",
            f"{row['painted_fps']:.1f}",
            f"{row['displayed_fps']:.1f}",
            f"{row['latency_ms']:.0f}",
            f"{row['latency_p95_ms']:.0f}",
            f"{row['motion_ms']:.1f}",
        )
        for row in rows
    ]
    return [header, *lines]


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
