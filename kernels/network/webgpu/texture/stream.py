"""The texture of a stream of frames on a GPU, whose state stays there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernels.frames.combing import Comb
from kernels.frames.noise import BANDS, CELL, tile, tracked_size
from kernels.network.webgpu.areas import Pair, area_sizes
from kernels.network.webgpu.device import Buffer, Device
from kernels.network.webgpu.native import Step
from kernels.network.webgpu.texture import adding, combing, flatness, lines, measuring, motion
from kernels.network.webgpu.texture.shared import FRAME_BYTES, STATE_BYTES, frame_words, groups
from kernels.network.webgpu.wgsl import Shader
from utils.stroke_directions import FOLLOW

PICTURES_KEPT = 4  # whose bind groups are kept: a plan has two pictures in flight


@dataclass(frozen=True, slots=True)
class _Combing:
    """The steps of strokes with a direction, and their buffers."""

    steps: tuple[Step, ...]
    combed: Buffer


class WebGpuTexture:
    """The state of a stream of frames of one size, and the shaders that add its texture.

    `kernels.frames.texture.TextureHistory` is the same for the other kernels. This state cannot be
    saved, so films use that one.
    """

    def __init__(self, device: Device, size: Pair) -> None:
        """Compile the shaders for frames of a width and height, and allocate the buffers.

        Raises:
            WebGpuError: If the device is lost, out of memory, or refuses a shader.
        """
        self.device, self.size = device, size
        wide, high = size
        self._cells: Pair = max(wide // CELL, 1), max(high // CELL, 1)
        rows, columns = tracked_size(high, wide)
        self._small: Pair = columns, rows
        self._begins = True
        self._continued = False  # whether the frame before continued another one
        self._newest, self._keeps_axes = 0, False
        self._tiles = [device.upload(tile(number)) for number in range(len(BANDS))]
        self._state = device.allocate(STATE_BYTES)
        self._frame = device.allocate(FRAME_BYTES)
        self._gray = device.allocate(4 * motion.copies_floats(self._small))
        count = self._cells[0] * self._cells[1]
        self._measured = device.allocate(8 * count)
        self._blurred = device.allocate(16 * count)
        self._flat = device.allocate(4 * count)
        self._combing: _Combing | None = None
        self._field: Buffer = None
        self._of_pictures: dict[tuple[object, ...], tuple[Step, ...]] = {}
        prepare(device)
        self._follow = self._step(
            *(motion.motion(), (size, self._small), (1, 1, 1)),
            gray=self._gray, state=self._state, frame=self._frame,
        )  # fmt: skip
        self._flatness = (
            self._step(
                *(flatness.across(), (self._cells,), groups(count)),
                source=self._measured, result=self._blurred,
            ),
            self._step(
                *(flatness.down(), (self._cells,), groups(count)),
                source=self._blurred, result=self._flat,
            ),
        )  # fmt: skip

    @property
    def begins(self) -> bool:
        return self._begins

    def keep_field(self) -> None:
        """Save the added levels from now on, for larger copies of the pictures.

        Raises:
            WebGpuError: If the device is lost or out of memory.
        """
        if self._field is None:
            self._field = self.device.allocate(4 * self.size[0] * self.size[1])

    def forget(self) -> None:
        """Begin another stream with the next frame."""
        self._begins = True

    def steps(
        self, picture: Buffer, amount: float, *, continues: bool, comb: Comb | None = None
    ) -> list[Step]:
        """Return the steps that add texture to the stream's next frame.

        They must be submitted before the next call.

        Args:
            picture: [H, W, 3] in bytes, changed in place.
            amount: 0 for none, 1 for the most.
            continues: Whether the frame continues the one before, so that the pattern has to move
                with the scene.
            comb: The direction and length of the strokes; None for strokes without a direction.

        Raises:
            WebGpuError: If the device is lost or out of memory.
        """
        self._newest = 1 - self._newest
        self.device.write(self._frame, self._words(amount, continues, comb))
        self._keeps_axes = comb is not None and comb.direction == FOLLOW
        self._begins, self._continued = False, continues
        combs = comb is not None
        measured, copied, added = self._kept(
            (picture, combs, self._field is not None), lambda: self._bound(picture, combs=combs)
        )
        copies = (copied,) if continues or combs else ()
        combing = self._made_combing().steps if combs else ()
        return [measured, *copies, self._follow, *self._flatness, *combing, added]

    def enlarged(self, picture: Buffer, size: Pair) -> list[Step]:
        """Return the step that adds the texture of the newest frame to a larger copy, in place.

        It must be submitted after the frame's, which `keep_field` precedes.

        Args:
            picture: [H, W, 3] in bytes, of the width and height `size`.

        Raises:
            WebGpuError: If the device is lost or out of memory.
        """
        assert self._field is not None

        def bound() -> tuple[Step, ...]:
            workgroups = groups(-(-size[0] * size[1] // adding.PIXELS))
            step = self._step(
                *(adding.enlarging(), (size, self.size), workgroups),
                picture=picture, field=self._field,
            )  # fmt: skip
            return (step,)

        return [*self._kept((picture, size), bound)]

    def _words(self, amount: float, continues: bool, comb: Comb | None) -> np.ndarray:
        begins = self._begins or not continues or not self._continued
        return frame_words(
            amount,
            begins=begins,
            continues=continues,
            averages=self._keeps_axes and not begins,
            newest=self._newest,
            comb=comb,
        )

    def _kept(
        self, key: tuple[object, ...], bound: Callable[[], tuple[Step, ...]]
    ) -> tuple[Step, ...]:
        """Return the steps of a picture, bound at its first use."""
        steps = self._of_pictures.pop(key, None) or bound()
        self._of_pictures[key] = steps  # last in the dict: the first is the least recently used
        if len(self._of_pictures) > 2 * PICTURES_KEPT:
            self._of_pictures.pop(next(iter(self._of_pictures)))
        return steps

    def _bound(self, picture: Buffer, *, combs: bool) -> tuple[Step, ...]:
        """Return the steps that read or write a picture: cells, the small copy, and adding."""
        cells = self._cells[0] * self._cells[1]
        small = self._small[0] * self._small[1]
        fine, coarse = self._tiles
        noise = (
            {"combed": self._made_combing().combed} if combs else {"fine": fine, "coarse": coarse}
        )
        kept = {} if self._field is None else {"field": self._field}
        pixels = -(-self.size[0] * self.size[1] // adding.PIXELS)
        return (
            self._step(
                *(
                    measuring.measuring(squares=True),
                    area_sizes(self.size, self._cells), groups(cells),
                ),
                picture=picture, result=self._measured,
            ),
            self._step(
                *(
                    measuring.measuring(squares=False),
                    area_sizes(self.size, self._small), groups(small),
                ),
                picture=picture, result=self._gray,
            ),
            self._step(
                *(
                    adding.adding(combs=combs, keeps=self._field is not None),
                    (self.size, self._cells), groups(pixels),
                ),
                picture=picture, flat=self._flat, state=self._state, frame=self._frame,
                **noise, **kept,
            ),
        )  # fmt: skip

    def _made_combing(self) -> _Combing:
        """Return the steps of strokes with a direction, made before the first ones."""
        if self._combing is None:
            self._combing = self._new_combing()
        return self._combing

    def _new_combing(self) -> _Combing:
        device, size, small = self.device, self.size, self._small
        half, wide = combing.half_of(size), combing.noise_size(size)
        count = small[0] * small[1]
        blurred, axes = device.allocate(16 * count), device.allocate(2 * 8 * count)
        noise = device.allocate(4 * wide[0] * wide[1])
        combed = device.allocate(4 * half[0] * half[1])
        fine, coarse = self._tiles
        steps = (
            self._step(
                *(lines.line_blur(), (small,), groups(count)), gray=self._gray, result=blurred
            ),
            self._step(
                *(lines.axes(), (size, small), groups(count)),
                lines=blurred, axes=axes, state=self._state, frame=self._frame,
            ),
            self._step(
                *(combing.noise(), (size, wide), groups(wide[0] * wide[1])),
                fine=fine, coarse=coarse, noise=noise, state=self._state,
            ),
            self._step(
                *(combing.combed(), (half, small), groups(half[0] * half[1])),
                axes=axes, noise=noise, result=combed, frame=self._frame,
            ),
        )  # fmt: skip
        return _Combing(steps, combed)

    def _step(
        self, shader: Shader, sizes: tuple[Pair, ...], workgroups: tuple[int, int, int],
        **buffers: Buffer,
    ) -> Step:  # fmt: skip
        pipeline = self.device.pipeline(shader)
        return Step(pipeline, workgroups, self.device.bind(pipeline, sizes, **buffers))


def prepare(device: Device) -> None:
    """Compile the shaders, for frames of every size. Larger copies get theirs at first use.

    Raises:
        WebGpuError: If the device is lost or refuses a shader.
    """
    shaders = (
        *(measuring.measuring(squares=squares) for squares in (True, False)),
        *(motion.motion(), flatness.across(), flatness.down()),
        *(lines.line_blur(), lines.axes(), combing.noise(), combing.combed()),
        *(adding.adding(combs=combs, keeps=False) for combs in (True, False)),
    )
    with device.compiling():
        for shader in shaders:
            device.pipeline(shader)
