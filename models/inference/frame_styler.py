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
        with torch.inference_mode(False):
            self._picture = torch.zeros(*frame, 3, dtype=torch.uint8, device=detail.device)
            # A frame of the network's size is uploaded to where the network reads it.
            same = frame == size
            self._frame = detail.frames[0] if same else torch.zeros_like(self._picture)
            self._slopes = kernels.new_slopes(*size, detail.device)
            self._history = kernels.new_history(*size, detail.device)
        self._pinned = _pinned(self._picture)
        self._ranges = [_pinned(plan.ranges) for plan in self._plans]
        self._result = detail.pictures[0]  # of the newest frame, before it was smoothed
        self._finished = self._result  # and after
        self._smoothed = False

    @property
    def _plans(self) -> list[GraphPlan]:
        return [self.detail] if self.strokes is None else [self.detail, self.strokes]

    def forget(self) -> None:
        """Do not smooth the next frame with earlier ones."""
        self._history.forget()

    def style(self, pixels: Pixels, finish: Finish, mark: StageCallback) -> Pixels:
        """Submit a frame: `wait` for the picture.

        Args:
            pixels: [H, W, 3] uint8, RGB.
            finish: What is made of the network's result.
            mark: Called with "upload", "resize", the groups of layers, "blend" and "download" as
                each has been submitted.

        Returns:
            [H, W, 3] uint8, RGB, to be read after `wait`; its memory belongs to the caller.
        """
        dense = np.ascontiguousarray(pixels)
        self._pinned.copy_(_view(dense))  # on several threads, unlike numpy's
        self._frame.copy_(self._pinned, non_blocking=True)
        mark("upload")
        if self._frame.data_ptr() != self.detail.frames.data_ptr():
            self._kernels.resize(self._frame, self.detail.frames[0])
        if self.strokes is not None:
            self.strokes.frames.copy_(shrink(self.detail.frames, *self.strokes.shape[1:]))
        mark("resize")
        for plan in self._plans:
            plan.replay(mark)
        self._result = self.detail.pictures[0]
        if self.strokes is not None:
            self._result = join(self.strokes.pictures, self.detail.pictures)[0]
        self._smooth(finish)
        for plan, pinned in zip(self._plans, self._ranges, strict=True):
            pinned.copy_(plan.ranges, non_blocking=True)
        return self.finish(finish, mark)

    def finish(self, finish: Finish, mark: StageCallback) -> Pixels:
        """Submit the newest frame's picture once more with other options, but for smoothing.

        Args:
            finish: What is made of the network's result.
            mark: Called with "blend" and "download".

        Returns:
            As of `style`.
        """
        picture = self._finished
        enlarges = picture.shape != self._picture.shape
        if enlarges or finish.mixes:
            slopes = None
            if finish.guided and picture.numel() < self._picture.numel():
                slopes = self._slopes
                self._kernels.slopes(picture, self.detail.frames[0], slopes)
            self._kernels.finish(
                *(self._frame, picture, slopes, self._picture),
                strength=finish.strength,
                keep_colors=finish.keep_colors,
            )
            picture = self._picture
        mark("blend")
        # A new buffer, which the caller keeps. PyTorch's allocator recycles pinned memory, so
        # that nothing is pinned anew after a few frames.
        copied = _pinned(picture)
        copied.copy_(picture, non_blocking=True)
        mark("download")
        return copied.numpy()

    def result(self) -> Pixels:
        """The network's output for the newest frame, [h, w, 3] uint8, RGB. Waits for it."""
        return self._result.cpu().numpy()

    def wait(self) -> None:
        """Wait for what was submitted."""
        torch.cuda.current_stream(self.detail.device).synchronize()

    @property
    def broken(self) -> bool:
        """Whether a network's output for the newest frame was not finite, or one constant; after
        `wait`."""
        return any(map(is_broken, self._ranges))

    def _smooth(self, finish: Finish) -> None:
        self._finished = self._result
        if not finish.smoothing:
            self._history.forget()
            return
        self._kernels.smooth(self._history, self.detail.frames[0], self._result, finish.smoothing)
        self._finished = self._history.smoothed


def _view(pixels: Pixels) -> Tensor:
    """The memory of dense pixels, which it does not keep. They are not to be written to; PyTorch
    would warn of that."""
    memory = (ctypes.c_ubyte * pixels.size).from_address(pixels.ctypes.data)
    return torch.frombuffer(memory, dtype=torch.uint8).view(pixels.shape)


def _pinned(like: Tensor) -> Tensor:
    """Memory to copy from and to; that of large pictures, which are no streams, is not pinned:
    PyTorch would keep it from the system for ever."""
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=like.numel() <= MOST_PINNED)
