"""The displayed picture on a GPU, from a network's result and its frame, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.frames.combing import Comb
from kernels.frames.launchers import FrameKernels
from models.inference.frame_pipeline import Pixels


@dataclass(frozen=True, slots=True)
class Finish:
    """Options for the processing of the network's result and of its input.

    Attributes:
        strength: 0 for the frame, 1 for the result.
        keep_colors: Whether to copy the chroma (of YCrCb) from the frame.
        guided: Whether to add the frame's detail to a result that is smaller than the frame.
        smoothing: Smoothing over time; 0 for none, 1 for the maximum.
        texture: Texture in the network's input; 0 for none, 1 for the maximum.
        follows: Whether each frame continues the one before, so that texture moves with the scene.
        comb: How the texture's strokes lie; None as they are.
    """

    strength: float = 1.0
    keep_colors: bool = False
    guided: bool = False
    smoothing: float = 0.0
    texture: float = 0.0
    follows: bool = False
    comb: Comb | None = None

    @property
    def mixes(self) -> bool:
        return self.keep_colors or self.strength < 1


@dataclass(frozen=True, slots=True, eq=False)
class Painted:
    """The picture of one frame, [H, W, 3] uint8, RGB; the caller owns its memory.

    `broken` is whether a network's output was not finite, or one constant; `screen` the copy for a
    window, [h, w, 4] uint8, of B, G, R and 255, or None.
    """

    pixels: Pixels
    broken: bool
    screen: Pixels | None = None


class FramePainter:
    """The step from results of (height, width) to displayed pictures, on the current stream."""

    def __init__(self, kernels: FrameKernels, size: tuple[int, ...], device: torch.device) -> None:
        self._kernels = kernels
        height, width = size
        self._slopes = kernels.new_slopes(height, width, device)

    def paint(
        self, frame: Tensor, small: Tensor, result: Tensor, picture: Tensor, finish: Finish
    ) -> None:
        """Make the displayed picture.

        Args:
            frame: [H, W, 3] uint8.
            small: [h, w, 3], the frame in the size of the result.
            result: [h, w, 3], of the network.
            picture: [H, W, 3], written to; neither `frame` nor `result`.
        """
        if result.shape == picture.shape and not finish.mixes:
            picture.copy_(result)  # the next frame's result takes its place
            return
        slopes = None
        if finish.guided and result.numel() < picture.numel():
            slopes = self._slopes
            self._kernels.slopes(result, small, slopes)
        self._kernels.finish(
            *(frame, result, slopes, picture),
            strength=finish.strength,
            keep_colors=finish.keep_colors,
        )


class KeptPainting:
    """A network's result that stays on the GPU, to be moved with the scene later.

    It is valid until its `Submission` is waited for and another frame takes its place.

    Attributes:
        kernels: The kernels of the GPU.
        frame: (height, width) of the frame.
        pixels: [h, w, 3] uint8, the result, smoothed if the stream is.
        source: [h, w, 3], the frame in this size, without texture.
        computed: The event after which both are there.
    """

    def __init__(
        self,
        kernels: FrameKernels,
        frame: tuple[int, int],
        source: Tensor,
        computed: torch.cuda.Event,
    ) -> None:
        self.kernels, self.frame, self.source, self.computed = kernels, frame, source, computed
        with torch.inference_mode(False):
            self.pixels = torch.zeros_like(source)
        self._read = torch.cuda.Event()
        self._is_read = False

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of the result."""
        height, width, _ = self.pixels.shape
        return height, width

    def read_on(self, stream: torch.cuda.Stream) -> None:
        """Let the next frame wait for the reads that `stream` was given so far."""
        self._read.record(stream)
        self._is_read = True

    def wait_for_reads(self, stream: torch.cuda.Stream) -> None:
        """Make a stream that will write the next frame wait for the last reads of this one."""
        if self._is_read:
            stream.wait_event(self._read)
