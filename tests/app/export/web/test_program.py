"""The plan that a page computes for a size is the plan of the desktop."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from app.export.web.formula import Formula
from app.export.web.program import RecordingDevice, page_network, program
from kernels.network.webgpu.plan import buffer_sizes
from kernels.network.webgpu.steps import Steps
from models.network_config import CONFIGS

LITE = page_network(CONFIGS["lite"], half=False)
SIZES = [(16, 16), (17, 67), (320, 240), (253, 190), (1280, 720)]


def recorded(width: Any, height: Any) -> tuple[RecordingDevice, Steps]:
    device: Any = RecordingDevice()
    sizes = buffer_sizes(LITE, (width, height), None)
    between = {name: device.allocate(size) for name, size in sizes.items()}
    return device, Steps(device, LITE, (width, height), between, band_bytes=None, in_bytes=True)


def computed(value: Any, width: int, height: int) -> Any:
    """Compute the formulas in a value as JavaScript does, where `/` divides fractions."""
    if isinstance(value, Formula):
        names = {"Math": SimpleNamespace(floor=math.floor), "w": width, "h": height}
        return eval(value.text, names)
    if isinstance(value, list | tuple):
        return [computed(each, width, height) for each in value]
    return value


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_formulas_give_the_numbers_of_a_size(width, height):
    made, steps = recorded(Formula("w"), Formula("h"))
    wanted, exact = recorded(width, height)
    assert computed(made.buffers, width, height) == wanted.buffers
    assert made.shaders == wanted.shaders, "the same shaders at every size"
    assert computed(steps.result_bytes, width, height) == exact.result_bytes
    assert list(steps.runs) == list(exact.runs)
    for layer, runs in steps.runs.items():
        for run, other in zip(runs, exact.runs[layer], strict=True):
            assert computed(run.groups, width, height) == list(other.groups)
            assert computed(run.bound["sizes"], width, height) == other.bound["sizes"]
            assert run.bound["buffers"] == other.bound["buffers"]
            assert (run.pipeline.handle, run.weights) == (other.pipeline.handle, other.weights)


@pytest.mark.parametrize("half", [False, True])
def test_a_program_names_every_shader_once(half):
    text = program(page_network(CONFIGS["lite"], half=half))
    device, _ = recorded(320, 240)
    assert text.count("@compute") == len(device.shaders)
    assert ("enable f16;" in text) == half


def test_formulas_follow_the_arithmetic_of_whole_numbers():
    w = Formula("w")
    for value in (1, 7, 8, 250):
        assert computed(-(-w // 8), value, 0) == -(-value // 8)
        assert computed(3 * (w + 1) * (2 + w) // 4, value, 0) == 3 * (value + 1) * (2 + value) // 4
