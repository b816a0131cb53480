"""Moves of one painting and of two that mix are measured, from bytes to bytes and on the GPU."""

from __future__ import annotations

from benchmarks.webgpu import scene
from benchmarks.webgpu_moves import move_line, move_rows
from tests.helpers.errors import mentions
from tests.kernels.network.webgpu.conftest import adapter as adapter
from tests.kernels.network.webgpu.conftest import device as device


def test_one_painting_and_two_that_mix_are_measured(device, monkeypatch):
    monkeypatch.setattr("benchmarks.webgpu_moves.WARMUP", 1)
    rows = [*move_rows(device, scene, 2, (64, 48))]
    assert [(row["size"], row["paintings"]) for row in rows] == [("64x48", 1), ("64x48", 2)]
    for row in rows:
        assert 0 < row["wall"]["least"] <= row["wall"]["median"]
        assert ("gpu" in row) is device.adapter.timed
        assert mentions(move_line(row), "64x48")
