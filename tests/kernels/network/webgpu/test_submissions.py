"""A picture is one submission on a fast GPU, and several short ones on a slow one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels.network.webgpu import form as forms
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.submissions import LONGEST, Part, Stopwatch, measured, packed
from tests.kernels.network.webgpu.test_plan import SMALL, Painter, picture


def test_a_fast_gpu_has_one_submission():
    assert packed(dict.fromkeys("abcdef", 3.0)) == [[*"abcdef"]]
    assert packed({}) == []


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([100, 100, 100, 100], ["abc", "d"]),
        ([299, 1, 1], ["ab", "c"]),
        ([500, 1, 400, 2, 3], ["a", "b", "c", "de"]),
        ([1, 300, 1], ["a", "b", "c"]),
        ([150, 151, 149, 152], ["a", "bc", "d"]),
    ],
)
def test_layers_are_packed_in_order_below_the_limit(times, expected):
    layers = dict(zip("abcdef", times, strict=False))
    assert packed(layers) == [[*part] for part in expected]


def test_every_layer_is_in_one_part_and_parts_cannot_be_joined():
    draw = np.random.default_rng(5)
    for _ in range(50):
        times = {str(n): each for n, each in enumerate(draw.exponential(90, 23))}
        parts = packed(times)
        assert [name for part in parts for name in part] == [*times]
        sums = [sum(times[name] for name in part) for part in parts]
        assert all(
            total <= LONGEST or len(part) == 1 for total, part in zip(sums, parts, strict=True)
        )
        for part, after in zip(sums[:-1], parts[1:], strict=True):
            assert part + times[after[0]] > LONGEST


class Counting(Device):
    """A device that notes the passes of each submission."""

    def __init__(self, device: Device) -> None:
        self.__dict__.update(device.__dict__)
        self.submitted: list[list[int]] = []

    def submit(self, passes: Any, *args: Any, **options: Any) -> None:
        self.submitted.append([len(steps) for steps in passes])
        super().submit(passes, *args, **options)


def test_a_plan_submits_what_it_has_packed(device, monkeypatch):
    painter, x = Painter(device, SMALL), picture(21, 18)
    layers = painter.plan(x).layers
    slow = dict(zip(layers, [200.0, 50.0, 80.0, 10.0, 20.0, 30.0, 400.0, 1.0], strict=True))

    # A fast one has two, of which the first begins early.
    for times, parts in ((dict.fromkeys(layers, 0.1), 2), (slow, 4)):
        told = {Part(name): ms for name, ms in times.items()}
        monkeypatch.setattr(forms, "measured", lambda *args, it=told: measured(*args) and it)
        counting = Counting(device)
        plan = WebGpuPlan(counting, painter.network, (21, 18))
        first = plan(painter.weights, x)
        counting.submitted.clear()
        assert np.array_equal(plan(painter.weights, x), first), "the measured picture is whole"
        assert len(counting.submitted) == parts


def test_shaders_run_before_they_are_measured(device):
    painter, x = Painter(device, SMALL), picture(21, 18)
    counting = Counting(device)
    plan = WebGpuPlan(counting, painter.network, (21, 18))
    plan.start(painter.weights, x[0]).wait()
    warming, *layers, copying = counting.submitted
    steps = plan._form(True).steps.grouped(painter.weights, str)
    assert layers == [[len(runs)] for runs in steps.values()]
    pipelines = {run.pipeline.handle for runs in steps.values() for run in runs}
    assert warming == [len(pipelines)], "each shader once"
    assert copying == []


def test_times_by_the_wall_clock_are_of_each_layer(device):
    painter, x = Painter(device, SMALL), picture(21, 18)
    plan = painter.plan(x)
    steps = plan._form(True).steps
    times = measured(steps.grouped(painter.weights, str), Stopwatch(device, steps.result))
    assert tuple(times) == tuple(map(Part, plan.layers))
    assert all(each > 0 for each in times.values())


def test_a_layer_that_takes_too_long_is_divided_into_its_steps(device, monkeypatch):
    monkeypatch.setattr("kernels.network.webgpu.plan.BAND_BYTES", 1)
    painter, x = Painter(device, SMALL), picture(200, 131)
    whole = painter(x)
    counting = Counting(device)
    plan = WebGpuPlan(counting, painter.network, (200, 131), longest=0.0)
    plan(painter.weights, x)
    counting.submitted.clear()
    assert np.array_equal(plan(painter.weights, x), whole)
    steps = plan._form(True).steps.grouped(painter.weights, str)
    assert len(steps["residual blocks/res1.conv1"]) > 4, "bands"
    assert counting.submitted == [[1]] * sum(map(len, steps.values()))
