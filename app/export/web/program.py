"""The steps of a network for pictures of any size, as JavaScript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from app.export.web.formula import Formula
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.native import Pipeline
from kernels.network.webgpu.plan import buffer_sizes
from kernels.network.webgpu.steps import Steps
from kernels.network.webgpu.wgsl import Shader
from models.network_config import NetworkConfig

Size = tuple[Formula | int, Formula | int]


class RecordingDevice:
    """A device that records buffers, shaders and bind groups, and computes nothing."""

    def __init__(self) -> None:
        self.buffers: list[Formula | int] = []  # bytes
        self.shaders: list[Shader] = []

    def allocate(self, size: Formula | int) -> int:
        self.buffers.append(size)
        return len(self.buffers) - 1

    def pipeline(self, shader: Shader) -> Pipeline:
        if shader not in self.shaders:
            self.shaders.append(shader)
        return Pipeline(shader, self.shaders.index(shader))

    def bind(self, pipeline: Pipeline, sizes: Sequence[Size], **buffers: int) -> dict[str, Any]:
        bound = [buffers[binding.name] for binding in pipeline.shader.buffers]
        return {"sizes": [list(size) for size in sizes], "buffers": bound}


def page_network(config: NetworkConfig, *, half: bool) -> Network:
    """Return the network of a page.

    A page packs filters for direct enlarging layers, and computes every size by one expression.
    """
    return Network.of(config, half=half, enlarging_winograd=False)


def program(network: Network) -> str:
    """Return an object of JavaScript: shaders, and `plan(w, h)` with the buffers and the runs.

    A run names its shader, its workgroups, the pairs of its `sizes`, its buffers and its weights.
    The picture and the result are bytes.
    """
    device = RecordingDevice()
    real = cast("tuple[int, int]", (Formula("w"), Formula("h")))
    sizes = buffer_sizes(network, real, None)
    between = {name: device.allocate(size) for name, size in sizes.items()}
    steps = Steps(cast("Device", device), network, real, between, band_bytes=None, in_bytes=True)
    runs = [
        {
            "shader": run.pipeline.handle,
            "groups": list(run.groups),
            **run.bound,
            "weights": run.weights or None,
        }
        for runs in steps.runs.values()
        for run in runs
    ]
    plan = {
        "buffers": device.buffers,
        "picture": steps.picture,
        "result": steps.result,
        "resultBytes": steps.result_bytes,
        "runs": runs,
    }
    shaders = ", ".join(map(_shader, device.shaders))
    return f"{{ shaders: [{shaders}], plan: (w, h) => ({_source(plan)}) }}"


def _shader(shader: Shader) -> str:
    return _source(
        {
            "code": shader.code,
            "bindings": ["uniform", *(binding.access for binding in shader.buffers)],
            "weights": shader.weights and shader.weights.access,
        }
    )


def _source(value: Any) -> str:
    """Return JSON with formulas in it."""
    if isinstance(value, Formula):
        return value.text
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return (
            "{" + ", ".join(f"{json.dumps(name)}: {_source(each)}" for name, each in fields) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_source(each) for each in cast("list[Any]", value)) + "]"
    return json.dumps(value)
