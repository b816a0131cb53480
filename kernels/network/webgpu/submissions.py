"""Divides a picture's work into submissions that no driver ends for taking too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kernels.network.webgpu.device import Buffer, Copy, Device
from kernels.network.webgpu.native import Step

# Windows ends a submission after two seconds, and a desktop should move in between.
LONGEST = 300.0  # ms


Key = TypeVar("Key", bound=Hashable)


class Part(NamedTuple):
    """Consecutive steps of a layer, all of them by default."""

    layer: str
    first: int = 0
    end: int | None = None

    def of(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Return the part of all steps of the layer."""
        return steps[self.first : self.end]


def packed(times: Mapping[Key, float], longest: float = LONGEST) -> list[list[Key]]:
    """Return consecutive parts in submissions of at most `longest` ms, or of one part.

    Args:
        times: The ms of each part, in order.
    """
    submissions: list[list[Key]] = []
    filled = 0.0
    for part, taken in times.items():
        if not submissions or filled + taken > longest:
            submissions.append([])
            filled = 0.0
        submissions[-1].append(part)
        filled += taken
    return submissions


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


def measured(
    layers: Mapping[str, Sequence[Step]],
    stopwatch: Callable[[Sequence[Step]], float],
    longest: float = LONGEST,
) -> dict[Part, float]:
    """Run each layer as a submission of its own, and return its ms by the wall clock.

    A layer that takes longer than `longest` runs again step by step: one by Winograd's transforms
    has several bands.

    Raises:
        WebGpuError: If the device is lost or does not answer.
    """
    # A driver may compile a shader as it first runs: one workgroup of each runs before.
    shaders = {id(step.pipeline): step for steps in layers.values() for step in steps}
    stopwatch([step._replace(groups=(1, 1, 1)) for step in shaders.values()])
    times: dict[Part, float] = {}
    for layer, steps in layers.items():
        taken = stopwatch(steps)
        if taken <= longest:
            times[Part(layer)] = taken
            continue
        for number in range(len(steps)):
            part = Part(layer, number, number + 1)
            times[part] = stopwatch(part.of(steps))
    return times
