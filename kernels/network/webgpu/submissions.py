"""Divides a picture's work into submissions that no driver ends for taking too long."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from kernels.network.webgpu.device import Buffer, Copy, Device
from kernels.network.webgpu.native import Step

# Windows ends a submission after two seconds, and a desktop should move in between.
LONGEST = 300.0  # ms


def packed(times: Mapping[str, float], longest: float = LONGEST) -> list[list[str]]:
    """Return consecutive layers in parts of at most `longest` ms, or of one layer.

    Args:
        times: The ms of each layer, in order.
    """
    parts: list[list[str]] = []
    filled = 0.0
    for layer, taken in times.items():
        if not parts or filled + taken > longest:
            parts.append([])
            filled = 0.0
        parts[-1].append(layer)
        filled += taken
    return parts


class Stopwatch:
    """Measures work by the wall clock, with all that a submission and a wait cost."""

    def __init__(self, device: Device, written: Buffer) -> None:
        """Take a buffer of shaders, of which a submission copies the first bytes."""
        self._device, self._written = device, written
        self._memory = device.readback(4)

    def __call__(self, steps: Sequence[Step]) -> float:
        """Run steps as a submission, and return its ms.

        Raises:
            WebGpuError: If the device is lost or does not answer.
        """
        begun = time.perf_counter()
        self._device.submit([steps], [Copy(self._written, self._memory)])
        with self._memory.read():
            return 1e3 * (time.perf_counter() - begun)


def measured(layers: Mapping[str, Sequence[Step]], stopwatch: Stopwatch) -> dict[str, float]:
    """Run each layer as a submission of its own, and return its ms by the wall clock.

    Raises:
        WebGpuError: If the device is lost or does not answer.
    """
    # A driver may compile a shader as it first runs: one workgroup of each runs before.
    shaders = {id(step.pipeline): step for steps in layers.values() for step in steps}
    stopwatch([step._replace(groups=(1, 1, 1)) for step in shaders.values()])
    return {layer: stopwatch(steps) for layer, steps in layers.items()}
