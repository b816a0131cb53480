"""A mix of styles: the GPU interpolates their packed weights, which depend on them linearly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from kernels.network.webgpu.device import Buffer, Device, Step
from kernels.network.webgpu.weights import Weights
from kernels.network.webgpu.wgsl import MAX_GROUPS, Binding, Shader, floats, lines

MOST = 4  # styles
_THREADS = 256

_BODY = """
@compute @workgroup_size({threads})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  let i = id.x;
  if (i >= sizes.count.x) {{ return; }}
  var sum = vec4<f32>();
{sums}
  result[i] = {type}(sum);
}}
"""


class MixedWeights:
    """The weights of a mix, for every plan of its network and device. Not thread-safe.

    Attributes:
        weights: The interpolated weights.
    """

    def __init__(self, device: Device, styles: Sequence[Weights]) -> None:
        """Allocate the buffers for a mix of up to MOST styles of one network.

        Raises:
            WebGpuError: If the device is lost or out of memory.
        """
        assert 0 < len(styles) <= MOST
        first = styles[0]
        self._device, self._styles = device, styles
        self._shares = device.upload(np.zeros(2 * MOST, np.float32))
        buffers = {
            name: device.allocate(buffer.size, uniform=name in first.uniforms)
            for name, buffer in first.buffers.items()
        }
        self.weights = Weights.of_buffers(first.network, buffers)
        self._steps = [self._step(name, buffers[name]) for name in buffers]

    def mix(self, shares: Sequence[float]) -> None:
        """Interpolate; pictures that were started before keep their weights.

        Args:
            shares: One for each style. They add up to 1.

        Raises:
            WebGpuError: If the device is lost.
        """
        self._device.background.wait()
        self._device.write(self._shares, np.asarray(shares, np.float32))
        self._device.submit([self._steps])

    def _step(self, name: str, result: Buffer) -> Step:
        half = name in self.weights.halves
        pipeline = self._device.pipeline(mixing(len(self._styles), half))
        count = result.size // (8 if half else 16)
        groups = -(-count // _THREADS)
        assert groups <= MAX_GROUPS
        sources = {f"style{n}": each.buffers[name] for n, each in enumerate(self._styles)}
        bound = self._device.bind(
            pipeline, [(count, 0)], shares=self._shares, **sources, result=result
        )
        return Step(pipeline, (groups, 1, 1), bound)


@cache
def mixing(styles: int, half: bool) -> Shader:
    """Return the shader that adds the shares of `count` vectors of each style."""
    of_floats = f"array<{floats(half)}>"
    names = [f"style{n}" for n in range(styles)]
    sums = lines(
        f"  sum = fma(vec4<f32>({name}[i]), vec4<f32>(shares[{n}]), sum);"
        for n, name in enumerate(names)
    )
    return Shader(
        sizes=("count",),
        buffers=(
            Binding("shares", "read", "array<f32>"),
            *(Binding(name, "read", of_floats) for name in names),
            Binding("result", "write", of_floats),
        ),
        weights=None,
        threads=_THREADS,
        vectors=0,
        body=_BODY.format(threads=_THREADS, sums=sums, type=floats(half)),
        half=half,
    )
