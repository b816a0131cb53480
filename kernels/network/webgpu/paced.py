"""Paints a picture in short pieces of work, between which it can be given up.

Between the pieces of a stream's picture, other work of the GPU runs: its queue has no priorities.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple

from kernels.network.cpu.work import finished_shares, products
from kernels.network.webgpu.device import Buffer, Copy, Device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.native import Group, Step
from kernels.network.webgpu.readback import Readback
from kernels.network.webgpu.stamps import Stamps
from kernels.network.webgpu.steps import Groups, Steps
from kernels.network.webgpu.submissions import Part, packed

# Two pieces are under way, so that the GPU does not wait for the CPU. Both end within 50 ms.
MOST = 16.0  # ms of a piece
STREAMED = 8.0  # ms of a piece of a stream's picture, two of which other work waits for
UNDER_WAY = 2
# Products in a ms of a slow GPU, as which a size's first picture is divided. A fast GPU spends its
# time between such pieces: 0.3 ms for each.
SLOW = 25e6

Check = Callable[[], object]

Passed = Callable[[str, float], object]  # a layer, and the finished share of the picture, 0 to 1


def estimated(network: Network, size: tuple[int, int]) -> dict[Part, float]:
    """Return the ms of each layer of a picture of a width and height on a slow GPU."""
    whole = sum(products(network, *size).values()) / SLOW
    shares, before = finished_shares(network), 0.0
    times: dict[Part, float] = {}
    for layer in network.layers:
        times[Part(layer)] = whole * (shares[layer] - before)
        before = shares[layer]
    return times


class Piece(NamedTuple):
    """Some workgroups of a step.

    Attributes:
        number: The step's, in its layer.
        ms: The time of the piece, an estimate.
    """

    layer: str
    number: int
    groups: Groups
    bound: Group
    ms: float

    def of(self, layers: Mapping[str, Sequence[Step]]) -> Step:
        step = layers[self.layer][self.number]
        return step._replace(groups=self.groups, bound=self.bound)


class Paced:
    """The work of a picture in pieces of some ms, as far as its steps can be divided.

    Attributes:
        expected: The ms of a picture, an estimate.
        layers: The layer of each piece, in order.
    """

    def __init__(
        self,
        device: Device,
        steps: Steps,
        times: Mapping[Part, float],
        shares: Mapping[str, float],
        *,
        picture: Buffer,
        most: float,
    ) -> None:
        """Divide the steps.

        Args:
            times: The ms of all parts, in order.
            shares: The share of the picture's work that is done after each layer.
            picture: The buffer with the input.
            most: The ms of a piece.
        """
        self._most, self._picture = most, picture
        self._device, self._steps, self._shares = device, steps, shares
        self.expected = sum(times.values())
        pieces = [piece for part, ms in times.items() for piece in self._divided(part, ms)]
        self.layers = [piece.layer for piece in pieces]
        ends = dict(zip(range(len(pieces)), self._ends(pieces), strict=True))
        spent = {number: piece.ms for number, piece in enumerate(pieces)}
        self._submissions = [
            ([pieces[number] for number in numbers], ends[numbers[-1]])
            for numbers in packed(spent, most)
        ]

    def run(
        self,
        layers: Mapping[str, Sequence[Step]],
        copies: Sequence[Copy],
        passed: Passed = lambda layer, share: None,
        check: Check = lambda: None,
        stamps: Stamps | None = None,
    ) -> float:
        """Compute a picture, wait for the GPU, and return the ms, without the time of `passed`.

        An exception of `passed` or `check` leaves at most UNDER_WAY submissions to the GPU.

        Args:
            layers: The steps of each layer, with a style's weights.
            copies: What follows the last piece.
            passed: Called after each submission.
            check: Called before each submission and while the GPU works.
            stamps: Measures the pieces.

        Raises:
            WebGpuError: If the device is lost or does not answer.
        """
        under_way: deque[tuple[Readback, str, float]] = deque()
        begun, first = time.perf_counter(), 0

        def await_oldest() -> None:
            nonlocal begun
            memory, layer, share = under_way.popleft()
            with memory.read(check):
                pass
            ended = time.perf_counter()
            passed(layer, share)
            begun += time.perf_counter() - ended

        for number, (pieces, share) in enumerate(self._submissions, 1):
            if len(under_way) == UNDER_WAY:
                await_oldest()
            check()  # a fast GPU is done before the wait begins
            # A picture that is given up leaves memory that the GPU still writes to.
            memory = self._device.readback(4)
            then = [Copy(self._steps.result, memory)]
            if number == len(self._submissions):
                then += copies
            steps = [piece.of(layers) for piece in pieces]
            passes = [steps] if stamps is None else [[step] for step in steps]
            self._device.submit(passes, then, stamps, first)
            first += len(passes)
            under_way.append((memory, pieces[-1].layer, share))
        while under_way:
            await_oldest()
        return 1e3 * (time.perf_counter() - begun)

    def _divided(self, part: Part, ms: float) -> list[Piece]:
        numbers = range(len(self._steps.runs[part.layer]))[part.first : part.end]
        most = max(1, math.ceil(ms / self._most))
        parts = [
            (number, groups, bound)
            for number in numbers
            for groups, bound in self._steps.divided(part.layer, number, most, self._picture)
        ]
        return [Piece(part.layer, *each, ms / len(parts)) for each in parts]

    def _ends(self, pieces: Sequence[Piece]) -> Generator[float]:
        """Yield the share of the picture's work that is done after each piece."""
        of_layers = dict.fromkeys(self._shares, 0)
        for piece in pieces:
            of_layers[piece.layer] += 1
        done, before, layer = 0, 0.0, ""
        for piece in pieces:
            if piece.layer != layer:
                done, before, layer = 0, self._shares.get(layer, 0.0), piece.layer
            done += 1
            end = self._shares[layer]
            is_whole = done == of_layers[layer]
            yield end if is_whole else before + (end - before) * done / of_layers[layer]
