"""The precisions that are measured; tests/app/commands/test_bench.py measures networks."""

from __future__ import annotations

import torch

from benchmarks.network.measure import supported_precisions
from models.precision import Precision


def test_tf32_and_int8_are_measured_on_a_gpu_alone():
    on_cpu = supported_precisions(torch.device("cpu"))
    assert {*Precision} - {*on_cpu.values()} == {Precision.tf32, Precision.int8}
    assert all(precision.name == name for name, precision in on_cpu.items())
