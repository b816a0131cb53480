"""The last paintings of a stream on a GPU, and the shaders that move them with the scene."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.frames.dense_motion import STEPS, sizes
from kernels.frames.moving import FADE
from kernels.frames.smoothing import CELL
from kernels.network.webgpu.areas import Pair, area_sizes
from kernels.network.webgpu.device import Buffer, Copy, Device
from kernels.network.webgpu.moving import flow, pyramid, showing, trusting
from kernels.network.webgpu.moving.shared import MOTIONS, PICTURES, PLACES, STATE_WORDS
from kernels.network.webgpu.native import Step
from kernels.network.webgpu.texture.shared import groups
from kernels.network.webgpu.wgsl import Shader

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB


class _Level(NamedTuple):
    """One of the sizes in which the motion is found, and the cells of all larger ones."""

    size: Pair
    before: int

    @property
    def cells(self) -> int:
        return self.size[0] * self.size[1]

    def picture(self, number: int) -> int:
        """Return where a gray picture of this size begins: the frame, or a painting's source."""
        return PICTURES * self.before + number * self.cells

    def motion(self, number: int) -> int:
        """Return where a motion of the first place begins."""
        return PLACES * MOTIONS * self.before + number * self.cells


class WebGpuMover:
    """The last paintings of a stream of one size. Not thread-safe.

    app.engine.post.moving_reference.ReferenceMover describes the method. A move is one submission.

    Attributes:
        size: (height, width) of paintings, in pixels.
        queued_ms: The time that the newest move waited for the GPU to end earlier work.
    """

    def __init__(self, device: Device, height: int, width: int) -> None:
        """Compile the shaders, and allocate the buffers.

        Raises:
            WebGpuError: If the device is lost, out of memory, or refuses a shader.
        """
        self.device, self.size = device, (height, width)
        self.queued_ms = 0.0
        self._newest = 0  # the place of the newest painting
        self._count = 0  # of the paintings that mix
        self._frames = 0  # since the newest painting
        rows, columns = max(height // CELL, 1), max(width // CELL, 1)
        self._levels = _levels(rows, columns)
        cells = self._levels[-1].before + self._levels[-1].cells
        self._frame = device.allocate(3 * height * width)
        self._paintings = [device.allocate(3 * height * width) for _ in range(PLACES)]
        self._shown = device.allocate(3 * height * width)
        self._grays = device.allocate(4 * PICTURES * cells)
        self._flows = device.allocate(8 * PLACES * MOTIONS * cells)
        self._trusts = device.allocate(8 * PLACES * rows * columns)
        self._state = device.allocate(4 * STATE_WORDS)
        self._memory, self._mark = device.readback(3 * height * width), device.readback(4)
        prepare(device)
        self._measuring = [self._measure(picture) for picture in range(PICTURES)]
        self._moving = [*self._motion(), self._trust()]
        self._showing = [self._show(newest) for newest in range(PLACES)]

    def painted(self, painting: Pixels, source: Pixels) -> None:
        """Take a new painting of `source`, both [H, W, 3].

        Raises:
            ValueError: If a picture has another size.
            WebGpuError: If the device is lost.
        """
        self._check(painting, source)
        self._newest, self._frames = (self._newest + 1) % PLACES, 0
        self._count = min(self._count + 1, PLACES)
        self.device.write(self._paintings[self._newest], painting)
        self.device.write(self._frame, source)
        self.device.submit([self._measuring[1 + self._newest]])

    def shown(self, source: Pixels) -> Pixels:
        """Return the last painting, [H, W, 3], moved with the scene to the frame `source`.

        Raises:
            ValueError: If there is no painting, or the frame has another size.
            WebGpuError: If the device is lost.
        """
        if not self._count:
            raise ValueError("there is no painting yet")
        self._check(source)
        self._frames += 1
        if self._frames >= FADE:
            self._count = 1
        begun = time.perf_counter()
        self.device.submit([], [Copy(self._state, self._mark)])
        self.device.write(self._state, self._words())
        self.device.write(self._frame, source)
        self.device.submit([self._steps()], [Copy(self._shown, self._memory)])
        with self._mark.read():
            self.queued_ms = 1e3 * (time.perf_counter() - begun)
        with self._memory.read() as written:
            return written[: source.size].reshape(source.shape).copy()

    def milliseconds(self) -> float:
        """Run the newest move again, and return the GPU's time in ms.

        Raises:
            WebGpuError: If the device is lost or does not measure times.
        """
        return self.device.times([self._steps()])[0]

    def _steps(self) -> list[Step]:
        """Return the steps of a move of the paintings that mix."""
        moving = [step._replace(groups=(*step.groups[:2], self._count)) for step in self._moving]
        return [*self._measuring[0], *moving, self._showing[self._newest]]

    def _words(self) -> NDArray[np.uint32]:
        """Return the struct Moving, whose sums begin with 0."""
        words = np.zeros(STATE_WORDS, np.uint32)
        words[0] = self._newest
        if self._count > 1:
            words.view(np.float32)[1] = 1 - self._frames / FADE
        return words

    def _measure(self, picture: int) -> list[Step]:
        """Return the steps that write a gray picture of `_frame` in all sizes."""
        (height, width), largest = self.size, self._levels[0]
        steps = [
            self._step(
                *(pyramid.cells(), groups(largest.cells)),
                (*area_sizes((width, height), largest.size), (largest.picture(picture), 0)),
                picture=self._frame, grays=self._grays,
            )
        ]  # fmt: skip
        for large, small in pairwise(self._levels):
            between = large.picture(picture), small.picture(picture)
            steps.append(
                self._step(
                    *(pyramid.halving(), groups(small.cells), (large.size, small.size, between)),
                    grays=self._grays,
                )
            )
        return steps

    def _motion(self) -> list[Step]:
        """Return the steps that find the motion, from the smallest size to the largest."""
        steps: list[Step] = []
        known, coarse = 0, (0, 0)
        for level in reversed(self._levels):
            wide, high = level.size
            tiles = -(-wide // flow.WIDE), -(-high // flow.HIGH), 1
            for number in range(STEPS):
                between = known, level.motion(number % MOTIONS)
                steps.append(
                    self._step(
                        *(flow.step(), tiles),
                        (level.size, (level.picture(0), 0), coarse, between),
                        grays=self._grays, flows=self._flows, state=self._state,
                    )
                )  # fmt: skip
                known, coarse = between[1], level.size
            between, settles = (known, level.motion(0)), int(level is self._levels[0])
            steps.append(
                self._step(
                    *(flow.median(), groups(level.cells), (level.size, between, (settles, 0))),
                    flows=self._flows, state=self._state,
                )
            )  # fmt: skip
            known = level.motion(0)
        return steps

    def _trust(self) -> Step:
        wide, high = size = self._levels[0].size
        tiles = -(-wide // trusting.WIDE), -(-high // trusting.HIGH), 1
        return self._step(
            *(trusting.trusting(), tiles, (size, (self._levels[0].picture(0), 0))),
            grays=self._grays, flows=self._flows, trusts=self._trusts, state=self._state,
        )  # fmt: skip

    def _show(self, newest: int) -> Step:
        height, width = self.size
        return self._step(
            *(showing.showing(), groups(-(-height * width // showing.PIXELS))),
            ((width, height), self._levels[0].size),
            newest=self._paintings[newest], before=self._paintings[1 - newest],
            flows=self._flows, trusts=self._trusts, state=self._state, shown=self._shown,
        )  # fmt: skip

    def _step(
        self, shader: Shader, workgroups: tuple[int, int, int], sizes: tuple[Pair, ...],
        **buffers: Buffer,
    ) -> Step:  # fmt: skip
        pipeline = self.device.pipeline(shader)
        return Step(pipeline, workgroups, self.device.bind(pipeline, sizes, **buffers))

    def _check(self, *pictures: Pixels) -> None:
        for each in pictures:
            if each.shape != (*self.size, 3):
                raise ValueError(f"a stream of {self.size} got a picture of {each.shape}")


def _levels(rows: int, columns: int) -> list[_Level]:
    """Return the sizes of the motion between pictures of cells, the largest first."""
    levels: list[_Level] = []
    before = 0
    for high, wide in sizes(rows, columns):
        levels.append(_Level((wide, high), before))
        before += wide * high
    return levels


def prepare(device: Device) -> None:
    """Compile the shaders, for frames of every size.

    Raises:
        WebGpuError: If the device is lost or refuses a shader.
    """
    with device.compiling():
        for shader in (
            *(pyramid.cells(), pyramid.halving(), flow.step(), flow.median()),
            *(trusting.trusting(), showing.showing()),
        ):
            device.pipeline(shader)
