"""Styles frames on a GPU from the frame to the displayed picture: nothing but these is copied.

The frame is scaled to the network's input, and the network's result is smoothed over time, enlarged
with the frame's detail and mixed with the frame, by the kernels of kernels.frames.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kernels.frames.launchers import FrameKernels
from kernels.network.graph_plan import GraphPlan, StageCallback
from models.inference.frame_pipeline import Pixels, is_broken
from models.inference.two_resolution import join, shrink

DEPTH = 2  # frames under way: one is copied while the other is computed
MOST_PINNED = 3 * 3840 * 2160  # bytes of a picture


@dataclass(frozen=True, slots=True)
class Finish:
    """What is made of the network's result.

    Attributes:
        strength: 0 for the frame, 1 for the result.
        keep_colors: Whether to take the chroma (of YCrCb) from the frame.
        guided: Whether a result that is smaller than the frame is given the frame's detail.
        smoothing: Over time; 0 for none, 1 for the most.
    """

    strength: float = 1.0
    keep_colors: bool = False
    guided: bool = False
    smoothing: float = 0.0

    @property
    def mixes(self) -> bool:
        """Whether the frame is a part of the picture."""
        return self.keep_colors or self.strength < 1


class FrameStyler:
    """Styles frames of one size with the plans for one or two input sizes. Not thread-safe; for
    inference mode.

    While a frame is computed, on the stream that is current, the next can be uploaded and the one
    before is downloaded, each on a stream of its own.

    Args:
        kernels: On the plans' GPU.
        frame: (height, width) of the frames.
        detail: The plan for single pictures of the network's input size.
        strokes: A plan of a smaller size, from which the low frequencies are taken; None for none.
    """

    def __init__(
        self,
        kernels: FrameKernels,
        frame: tuple[int, int],
        detail: GraphPlan,
        strokes: GraphPlan | None = None,
    ) -> None:
        self.frame, self.detail, self.strokes = frame, detail, strokes
        self._kernels = kernels
        size = detail.shape[1:]
        with torch.inference_mode(False), torch.cuda.device(detail.device):
            ranges = [plan.ranges for plan in self._plans]
            self._slots = [_Slot(frame, ranges, detail.device) for _ in range(DEPTH)]
            self._slopes = kernels.new_slopes(*size, detail.device)
            self._history = kernels.new_history(*size, detail.device)
            self._up, self._down = torch.cuda.Stream(), torch.cuda.Stream()
        for stream in (self._up, self._down):  # the buffers are filled with zeros before
            stream.wait_stream(self._compute)
        self._next = 0
        self._result = detail.pictures[0]  # of the newest frame, before it was smoothed
        self._finished = self._result  # and after

    @property
    def _compute(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self.detail.device.index)

    @property
    def _plans(self) -> list[GraphPlan]:
        return [self.detail] if self.strokes is None else [self.detail, self.strokes]

    def forget(self) -> None:
        """Do not smooth the next frame with earlier ones."""
        self._history.forget()

    def submit(
        self,
        pixels: Pixels,
        finish: Finish,
        mark: StageCallback,
        screen: tuple[int, int] | None = None,
    ) -> Submission:
        """Start styling a frame; DEPTH of them may be under way.

        Args:
            pixels: [H, W, 3] uint8, RGB.
            finish: What is made of the network's result.
            mark: Called with "start", "upload", "queue", "resize", the groups of layers, "blend"
                and "download" as each has been submitted, with its stream as the current one.
            screen: (height, width) of a copy of the picture that a window paints; None for none.

        Raises:
            RuntimeError: DEPTH frames are under way.
        """
        slot = self._slots[self._next]
        if slot.in_flight:
            raise RuntimeError(f"{DEPTH} frames are under way; wait for one first")
        self._next = (self._next + 1) % DEPTH
        with torch.cuda.stream(self._up):
            mark("start")
            dense = np.ascontiguousarray(pixels)
            slot.pinned.copy_(_view(dense))  # on several threads, unlike numpy's
            slot.frame.copy_(slot.pinned, non_blocking=True)
            mark("upload")
            slot.uploaded.record(self._up)
        self._compute.wait_event(slot.uploaded)
        mark("queue")
        if self.frame == self.detail.shape[1:]:
            self.detail.frames[0].copy_(slot.frame)
        else:
            self._kernels.resize(slot.frame, self.detail.frames[0])
        if self.strokes is not None:
            self.strokes.frames.copy_(shrink(self.detail.frames, *self.strokes.shape[1:]))
        mark("resize")
        for plan in self._plans:
            plan.replay(mark)
        self._result = self.detail.pictures[0]
        if self.strokes is not None:
            self._result = join(self.strokes.pictures, self.detail.pictures)[0]
        self._smooth(finish)
        for plan, ranges in zip(self._plans, slot.ranges, strict=True):
            ranges.copy_(plan.ranges)
        return self._display(slot, finish, mark, screen)

    def finish_again(self, submission: Submission, finish: Finish) -> Submission:
        """Make the picture of a frame once more with other options, but for smoothing.

        Args:
            submission: The frame submitted last, which has been waited for.
            finish: What is made of the network's result.
        """
        return self._display(submission.slot, finish, lambda _: None)

    def result(self) -> Pixels:
        """The network's output for the newest frame, [h, w, 3] uint8, RGB. Waits for it."""
        return self._result.cpu().numpy()

    def _smooth(self, finish: Finish) -> None:
        self._finished = self._result
        if not finish.smoothing:
            self._history.forget()
            return
        self._kernels.smooth(self._history, self.detail.frames[0], self._result, finish.smoothing)
        self._finished = self._history.smoothed

    def _display(
        self,
        slot: _Slot,
        finish: Finish,
        mark: StageCallback,
        screen: tuple[int, int] | None = None,
    ) -> Submission:
        """Submit what becomes of the network's newest result, and its download."""
        picture = self._finished
        enlarges = picture.shape != slot.picture.shape
        if enlarges or finish.mixes:
            slopes = None
            if finish.guided and picture.numel() < slot.picture.numel():
                slopes = self._slopes
                self._kernels.slopes(picture, self.detail.frames[0], slopes)
            self._kernels.finish(
                *(slot.frame, picture, slopes, slot.picture),
                strength=finish.strength,
                keep_colors=finish.keep_colors,
            )
        else:
            slot.picture.copy_(picture)  # the next frame is painted over this one
        shown = None if screen is None else slot.screen_of(screen)
        if shown is not None:
            self._kernels.screen(slot.picture, shown)
        mark("blend")
        slot.computed.record(self._compute)
        with torch.cuda.stream(self._down):
            self._down.wait_event(slot.computed)
            # A new buffer, which the caller keeps. PyTorch's allocator recycles pinned memory, so
            # that nothing is pinned anew after a few frames.
            copied = _downloaded(slot.picture)
            copied_screen = None if shown is None else _downloaded(shown).numpy()
            for host, ranges in zip(slot.host_ranges, slot.ranges, strict=True):
                host.copy_(ranges, non_blocking=True)
            mark("download")
            slot.finished.record(self._down)
        slot.in_flight = True
        return Submission(slot, copied.numpy(), copied_screen)


class Submission:
    """A frame that a FrameStyler was given.

    Args:
        slot: Its buffers.
        pixels: Where the picture is downloaded to.
        screen: Where the copy is that a window paints; None if none was asked for.

    Attributes:
        screen: The same, to be read after `wait`: [h, w, 4] uint8, of B, G, R and 255.
    """

    __slots__ = ("_pixels", "screen", "slot")

    def __init__(self, slot: _Slot, pixels: Pixels, screen: Pixels | None = None) -> None:
        self.slot, self._pixels, self.screen = slot, pixels, screen

    def wait(self) -> tuple[Pixels, bool]:
        """Wait for the picture, once.

        Returns:
            [H, W, 3] uint8, RGB, whose memory belongs to the caller; and whether a network's output
            was not finite, or one constant.
        """
        self.slot.finished.synchronize()
        self.slot.in_flight = False
        return self._pixels, any(map(is_broken, self.slot.host_ranges))


class _Slot:
    """The buffers and events of one frame under way.

    Args:
        frame: (height, width) of the frames.
        ranges: Those of the plans.
        device: A CUDA device.
    """

    def __init__(self, frame: tuple[int, int], ranges: list[Tensor], device: torch.device) -> None:
        self.frame = torch.zeros(*frame, 3, dtype=torch.uint8, device=device)
        self.picture = torch.zeros_like(self.frame)
        self.ranges = [torch.zeros_like(each) for each in ranges]
        self.pinned = _pinned(self.frame)
        self.host_ranges = [_pinned(each) for each in ranges]
        self.uploaded, self.computed = torch.cuda.Event(), torch.cuda.Event()
        self.finished = torch.cuda.Event()
        self.in_flight = False
        self._screen: Tensor | None = None

    def screen_of(self, size: tuple[int, int]) -> Tensor:
        """A buffer for the copy that a window paints, (height, width)."""
        if self._screen is None or self._screen.shape[:2] != size:
            with torch.inference_mode(False):
                self._screen = self.picture.new_zeros(*size, 4)
        return self._screen


def _downloaded(picture: Tensor) -> Tensor:
    """What a picture is copied to on the current stream."""
    copied = _pinned(picture)
    copied.copy_(picture, non_blocking=True)
    return copied


def _view(pixels: Pixels) -> Tensor:
    """The memory of dense pixels, which it does not keep. They are not to be written to; PyTorch
    would warn of that."""
    memory = (ctypes.c_ubyte * pixels.size).from_address(pixels.ctypes.data)
    return torch.frombuffer(memory, dtype=torch.uint8).view(pixels.shape)


def _pinned(like: Tensor) -> Tensor:
    """Memory to copy from and to; that of large pictures, which are no streams, is not pinned:
    PyTorch would keep it from the system for ever."""
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=like.numel() <= MOST_PINNED)
