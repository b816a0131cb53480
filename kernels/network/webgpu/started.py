"""A picture that the GPU paints, and the place that it takes in a plan until it is read."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.network.webgpu.device import Buffer, Copy, Device
from kernels.network.webgpu.paced import Paced
from kernels.network.webgpu.readback import Readback
from kernels.network.webgpu.stamps import Stamps
from kernels.network.webgpu.steps import Steps

Limits = tuple[float, float]


class Place:
    """The buffers of a picture in flight.

    Attributes:
        picture: The buffer for the input.
        reading: The bind group of the first step, which reads it.
        stamps: Measures the passes, once `clock` has been called.
        paced: The pieces of a stream's picture, once they are made.
    """

    def __init__(self, device: Device, steps: Steps, picture: Buffer) -> None:
        self._device, self._steps = device, steps
        self.picture, self.reading = picture, steps.reading(picture)
        self._memory = device.readback(steps.result_bytes)
        self.stamps: Stamps | None = None
        self.paced: Paced | None = None
        self._clock: Readback | None = None
        self._holder: weakref.ref[Started] | None = None

    @property
    def free(self) -> bool:
        """Whether the picture has been read."""
        return self._holder is None

    @property
    def lost(self) -> bool:
        """Whether nobody can read the picture any more."""
        return self._holder is not None and self._holder() is None

    def clock(self, passes: int) -> Stamps:
        """Return what measures the passes of the next picture."""
        if self.stamps is None or self.stamps.passes != passes:
            self.stamps = self._device.stamps(passes)
            self._clock = self._device.readback(self.stamps.size)
        return self.stamps

    def copies(self, *, timed: bool) -> list[Copy]:
        """Return the copies that the last submission of a picture makes."""
        copies = [Copy(self._steps.result, self._memory)]
        if timed and self.stamps is not None and self._clock is not None:
            copies.append(Copy(self.stamps, self._clock))
        return copies

    def take(self, holder: Started) -> None:
        self._holder = weakref.ref(holder)

    def read(self, to: NDArray[Any]) -> Limits:
        """Wait for the picture, write it to `to` [H, W, 3], and return its limits."""
        bytes_of_pixels = self._steps.pixel_bytes
        with self._memory.read() as written:
            rows = written[:bytes_of_pixels].view(to.dtype).reshape(len(to), -1, 3)
            to[:] = rows[:, : to.shape[1]]
            if to.dtype == np.uint8:
                parts = written[bytes_of_pixels:].view(np.float32)
                limits = float(parts[::2].min()), float(parts[1::2].max())
            else:
                limits = _limits(to)
        return limits

    def ready(self) -> bool:
        """Return whether `read` would not wait."""
        return self._memory.ready()

    def milliseconds(self) -> list[float]:
        """Return the time of each pass, after `read`."""
        assert self.stamps is not None
        assert self._clock is not None
        with self._clock.read() as written:
            return self.stamps.milliseconds(written)

    def leave(self) -> None:
        self._holder = None


class Started:
    """A picture that the GPU paints. Any thread may wait for it, one at a time."""

    def __init__(
        self,
        place: Place,
        to: NDArray[Any],
        groups: Sequence[str],
        submitted: Future[float] | None = None,
    ) -> None:
        """Take a place.

        Args:
            to: The array [H, W, 3] for the result.
            groups: The group of layers of each measured pass.
            submitted: The ms of a picture that a thread submits in pieces, once they have ended;
                None if it is submitted.
        """
        place.take(self)
        self._place: Place | None = place
        self._to, self._groups = to, groups
        self._limits = np.nan, np.nan
        self._milliseconds: dict[str, float] = {}
        self._submitted = submitted

    def ready(self) -> bool:
        """Return whether `wait` would not wait for the GPU.

        Raises:
            WebGpuError: If the device is lost.
        """
        if self._submitted is not None and not self._submitted.done():
            return False  # the memory that the GPU will write must not be asked for before
        return self._place is None or self._place.ready()

    def wait(self) -> None:
        """Wait for the GPU, and copy the result.

        Raises:
            WebGpuError: If the device is lost or does not answer.
        """
        if self._place is None:
            return
        if self._submitted is not None:
            self._submitted.result()
        self._limits = self._place.read(self._to)
        if self._groups:
            for group, time in zip(self._groups, self._place.milliseconds(), strict=True):
                self._milliseconds[group] = self._milliseconds.get(group, 0.0) + time
        self._place.leave()
        self._place = None

    def result(self) -> NDArray[Any]:
        """Wait for the GPU, and return the picture [H, W, 3]; see `wait`."""
        self.wait()
        return self._to

    @property
    def limits(self) -> Limits:
        """The least and the greatest value before rounding, or NaN if a value is not finite."""
        self.wait()
        return self._limits

    @property
    def spent(self) -> float | None:
        """The ms of a picture in pieces, by the wall clock; None for one that is not."""
        return None if self._submitted is None else self._submitted.result()

    @property
    def milliseconds(self) -> dict[str, float] | None:
        """The GPU's time by group of layers; None if it was not measured."""
        self.wait()
        return self._milliseconds or None


def _limits(numbers: NDArray[np.float32]) -> Limits:
    if not np.isfinite(numbers).all():
        return np.nan, np.nan
    return float(numbers.min()), float(numbers.max())
