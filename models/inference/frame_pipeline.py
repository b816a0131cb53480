"""Frames through the native network on a GPU, as bytes: one at a time, or neighbors overlapped."""

from __future__ import annotations

import math
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.network.plan import NetworkPlan, StageCallback

Pixels = NDArray[np.uint8]
DEPTH = 2  # frames under way together: one goes up or comes down while the other is computed


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """`pixels` are [H, W, 3]; `broken` where the network's values were not finite, or all one."""

    pixels: Pixels
    broken: bool


class SingleFrameRunner:
    """One frame at a time through a plan for single pictures, as soon as possible. Holds the
    pinned memory that frames go up by. For one thread, in inference mode."""

    def __init__(self, plan: NetworkPlan) -> None:
        self.plan = plan
        self._frame, self._range = _pinned(plan.frames), _pinned(plan.ranges)
        self._pixels = self._frame.numpy()[0]

    def style(self, pixels: Pixels, mark: StageCallback | None = None) -> Result:
        """Take a frame [H, W, 3] and wait for its result, which is valid as long as it is held.

        `mark` is called with "upload", the groups of layers, and "download".
        """
        plan = self.plan
        self.send(pixels, mark)
        plan.replay(mark)
        # The caller's to keep. PyTorch hands out again what nobody holds any more, so that no
        # memory is pinned for it once a few frames have passed.
        picture = _pinned(plan.pictures)
        picture.copy_(plan.pictures, non_blocking=True)
        self._range.copy_(plan.ranges, non_blocking=True)
        if mark is not None:
            mark("download")
        torch.cuda.current_stream(plan.device).synchronize()
        return Result(picture.numpy()[0], is_broken(self._range))

    def send(self, pixels: Pixels, mark: StageCallback | None = None) -> None:
        """Copy a frame [H, W, 3] to where the plan takes it from."""
        np.copyto(self._pixels, pixels)
        self.plan.frames.copy_(self._frame, non_blocking=True)
        if mark is not None:
            mark("upload")


class PipelinedRunner:
    """Frame after frame through one plan for single pictures: while one is computed, the next
    goes up and the one before comes down, each on a stream of its own.

    Fill `slot()`, `send()`, and `receive()` in the order sent; or let `styled` do that. No more
    than DEPTH frames may be sent and not received. For one thread, in inference mode.
    """

    def __init__(self, plan: NetworkPlan) -> None:
        self._plan = plan
        with torch.cuda.device(plan.device):
            self._up, self._compute, self._down = (torch.cuda.Stream() for _ in range(3))
            self._slots = [_Slot(plan) for _ in range(DEPTH)]
        self._sent: deque[_Slot] = deque()
        self._next = 0
        # What was asked of the device before, the buffers' zeros too, comes first.
        for stream in (self._up, self._compute, self._down):
            stream.wait_stream(torch.cuda.current_stream(plan.device))

    def slot(self) -> Pixels:
        """[H, W, 3] in pinned memory: where the next frame to send is written."""
        return self._slots[self._next].frame.numpy()[0]

    def send(self) -> None:
        """Start on what is in `slot`. Raises RuntimeError if DEPTH frames are under way."""
        if len(self._sent) == DEPTH:
            raise RuntimeError(f"{DEPTH} frames are under way; receive one first")
        slot, plan = self._slots[self._next], self._plan
        with torch.cuda.stream(self._up):
            # The slot was received, so that nothing on the device still needs what it held.
            slot.bytes_in.copy_(slot.frame, non_blocking=True)
            slot.uploaded.record()
        with torch.cuda.stream(self._compute):
            self._compute.wait_event(slot.uploaded)
            plan.frames.copy_(slot.bytes_in)
            plan.replay()
            slot.bytes_out.copy_(plan.pictures)
            slot.range_out.copy_(plan.ranges)
            slot.computed.record()
        with torch.cuda.stream(self._down):
            self._down.wait_event(slot.computed)
            slot.picture.copy_(slot.bytes_out, non_blocking=True)
            slot.range.copy_(slot.range_out, non_blocking=True)
            slot.finished.record()
        self._sent.append(slot)
        self._next = (self._next + 1) % DEPTH

    def receive(self) -> Result:
        """Wait for the frame sent first. Its pixels are valid until DEPTH more were sent."""
        slot = self._sent.popleft()
        slot.finished.synchronize()
        return Result(slot.picture.numpy()[0], is_broken(slot.range))

    def styled(self, frames: Iterable[Pixels]) -> Iterator[Result]:
        """Every frame, in order; each result is valid until the next is asked for."""
        for frame in frames:
            if len(self._sent) == DEPTH:
                yield self.receive()
            np.copyto(self.slot(), frame)
            self.send()
        while self._sent:
            yield self.receive()


class _Slot:
    """The buffers of one frame under way, on the host and on the device."""

    def __init__(self, plan: NetworkPlan) -> None:
        self.frame, self.picture, self.range = (
            _pinned(like) for like in (plan.frames, plan.pictures, plan.ranges)
        )
        self.bytes_in, self.bytes_out, self.range_out = (
            torch.zeros_like(like) for like in (plan.frames, plan.pictures, plan.ranges)
        )
        self.uploaded, self.computed = torch.cuda.Event(), torch.cuda.Event()
        self.finished = torch.cuda.Event()


def is_broken(ranges: Tensor) -> bool:
    """Whether a picture with these `NetworkPlan.ranges` (of one sample, on the host) is none."""
    least, most, not_finite = ranges[0].tolist()
    low, high = _float_of(least), _float_of(most)
    return bool(not_finite) or not (math.isfinite(low) and math.isfinite(high)) or low == high


def _float_of(order: int) -> float:
    """The float that has this place in their order."""
    bits = order if order >= 0 else order ^ 0x7FFFFFFF
    return struct.unpack("<f", struct.pack("<i", bits))[0]


def _pinned(like: Tensor) -> Tensor:
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=True)
