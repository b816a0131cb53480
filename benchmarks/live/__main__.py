"""Measures the live pipeline with the real window: age, responsiveness, memory, switching, startup.

`python -m benchmarks.live FILE` stores the results as JSON. Without a display, the window is
rendered offscreen.
"""

from __future__ import annotations

import sys
from dataclasses import asdict

from benchmarks.live.gallery import Gallery, gallery
from benchmarks.live.program import Say, run
from benchmarks.live.speeds import engine_fps, start
from benchmarks.live.streams import (
    Automatic,
    Growth,
    Streaming,
    automatic,
    growth,
    streaming,
    switching,
)
from kernels.table.registry import STYLE


def measure(say: Say) -> dict[str, object]:
    """Run every measurement; return JSON-serializable values."""
    results: dict[str, object] = {}
    for name, work in (
        ("start_seconds", start),
        ("slow_engine", streaming),
        ("gallery", gallery),
        ("growth", growth),
        ("switching_frames", switching),
        ("automatic_size", automatic),
        ("engine_fps", engine_fps),
    ):
        say(f"measuring {name.replace('_', ' ')}")
        value = work()
        results[name] = (
            asdict(value) if isinstance(value, Streaming | Gallery | Growth | Automatic) else value
        )
    return {"live": results}


if __name__ == "__main__":
    sys.exit(run("python -m benchmarks.live", (STYLE,), measure))
