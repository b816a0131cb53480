"""The benchmark of the window measures a real one, and says what ran."""

from __future__ import annotations

from app.ui import window_benchmark
from utils.tables import window_table


def test_a_stream_through_the_window_is_measured(qapp, native_kernels, monkeypatch):
    monkeypatch.setattr(window_benchmark, "WARM_UP_S", 0.5)
    monkeypatch.setattr(window_benchmark, "SECONDS", 0.5)
    monkeypatch.setattr(
        window_benchmark, "CASES", (("strength", (64, 48), {"size": 32, "strength": 0.5}),)
    )
    said: list[str] = []
    (found,) = window_benchmark.measure(said.append)
    assert found["processed_fps"] > 1
    assert 0 < found["displayed_fps"] <= found["processed_fps"] + 1
    assert found["running"].startswith("Fused, ")
    assert found["latency_ms"] > found["deliver_ms"] + found["paint_ms"] > 0
    assert said[0].startswith("64x48, strength: ")
    _, line = window_table([found])
    assert line[:2] == ("64x48", "strength")
