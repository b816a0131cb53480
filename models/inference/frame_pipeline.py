"""Runners of uint8 frames through the native network on a GPU: one at a time, or pipelined."""

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

from kernels.network.graph_plan import GraphPlan, StageCallback

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
DEPTH = 2  # frames in flight: one is copied while the other is computed


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A styled frame, [H, W, 3] uint8, RGB; `broken` if the output was not finite or constant."""

    pixels: Pixels
    broken: bool


class SingleFrameRunner:
    """A runner of single frames (N = 1), for low latency and inference mode; not thread-safe."""

    def __init__(self, plan: GraphPlan) -> None:
        self.plan = plan
        self._frame, self._range = _pinned(plan.frames), _pinned(plan.ranges)
        self._pixels = self._frame.numpy()[0]

    def style(self, pixels: Pixels, mark: StageCallback | None = None) -> Result:
        """Stylize a frame, [H, W, 3] uint8, RGB, of the plan's size; the caller owns the result.

        Calls `mark` with "upload", the groups of layers and "download" when it submits each.
        """
        plan = self.plan
        self.send(pixels, mark)
        plan.replay(mark)
        # A new buffer, owned by the caller. PyTorch's allocator recycles pinned memory, so nothing
        # is pinned anew after a few frames.
        picture = _pinned(plan.pictures)
        picture.copy_(plan.pictures, non_blocking=True)
        self._range.copy_(plan.ranges, non_blocking=True)
        if mark is not None:
            mark("download")
        torch.cuda.current_stream(plan.device).synchronize()
        return Result(picture.numpy()[0], is_broken(self._range))

    def send(self, pixels: Pixels, mark: StageCallback | None = None) -> None:
        """Start copying a frame [H, W, 3] uint8 into the plan's input; call mark("upload")."""
        np.copyto(self._pixels, pixels)
        self.plan.frames.copy_(self._frame, non_blocking=True)
        if mark is not None:
            mark("upload")


class PipelinedRunner:
    """A runner of consecutive frames, for the highest throughput, with a plan for N = 1.

    While it computes one frame, it uploads the next and downloads the previous one, each on its own
    CUDA stream. Fill `slot()`, then `send()`, and `receive()` in the order sent; `styled` does all
    three. At most DEPTH frames may be in flight. Not thread-safe; for inference mode.
    """

    def __init__(self, plan: GraphPlan) -> None:
        self._plan = plan
        with torch.cuda.device(plan.device):
            self._up, self._compute, self._down = (torch.cuda.Stream() for _ in range(3))
            self._slots = [_Slot(plan) for _ in range(DEPTH)]
        self._sent: deque[_Slot] = deque()
        self._next = 0
        # Work submitted earlier, such as zeroing the buffers, has to finish first.
        for stream in (self._up, self._compute, self._down):
            stream.wait_stream(torch.cuda.current_stream(plan.device))

    def slot(self) -> Pixels:
        """Return the pinned buffer, [H, W, 3] uint8, for the next frame to send."""
        return self._slots[self._next].frame.numpy()[0]

    def send(self) -> None:
        """Start computing the frame in `slot()`.

        Raises:
            RuntimeError: If DEPTH frames are in flight.
        """
        if len(self._sent) == DEPTH:
            raise RuntimeError(f"{DEPTH} frames are in progress; receive one first")
        slot, plan = self._slots[self._next], self._plan
        with torch.cuda.stream(self._up):
            # The frame in this slot was received, so its device buffers are no longer in use.
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
        """Wait for the oldest frame in flight; its pixels are valid until DEPTH more are sent."""
        slot = self._sent.popleft()
        slot.finished.synchronize()
        return Result(slot.picture.numpy()[0], is_broken(slot.range))

    def styled(self, frames: Iterable[Pixels]) -> Iterator[Result]:
        """Stylize a stream of frames [H, W, 3] uint8, RGB, of the plan's size, pipelined.

        The results come in order, each valid until the next one is requested.
        """
        for frame in frames:
            if len(self._sent) == DEPTH:
                yield self.receive()
            np.copyto(self.slot(), frame)
            self.send()
        while self._sent:
            yield self.receive()


class _Slot:
    """The buffers and events of one frame in flight, on the host and on the device."""

    def __init__(self, plan: GraphPlan) -> None:
        self.frame, self.picture, self.range = (
            _pinned(like) for like in (plan.frames, plan.pictures, plan.ranges)
        )
        self.bytes_in, self.bytes_out, self.range_out = (
            torch.zeros_like(like) for like in (plan.frames, plan.pictures, plan.ranges)
        )
        self.uploaded, self.computed = torch.cuda.Event(), torch.cuda.Event()
        self.finished = torch.cuda.Event()


def is_broken(ranges: Tensor) -> bool:
    """Return whether the output is not finite, or one constant.

    `ranges` is [1, 3] integers on the host, from `GraphPlan.ranges`: the minimum and the maximum,
    as integers of the same order, and the number of values that are not finite.
    """
    least, most, not_finite = ranges.numpy()[0].tolist()
    low, high = _float_of(least), _float_of(most)
    return bool(not_finite) or not (math.isfinite(low) and math.isfinite(high)) or low == high


def _float_of(order: int) -> float:
    bits = order if order >= 0 else order ^ 0x7FFFFFFF
    return struct.unpack("<f", struct.pack("<i", bits))[0]


def _pinned(like: Tensor) -> Tensor:
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=True)
