"""Picture arithmetic around the network: scaling before it, and all steps after it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from app.engine.config import EngineConfig
from app.engine.post.guided_upsampling import KEPT, GuidedUpsampler, enlarge_deep
from app.engine.post.temporal_smoothing import TemporalSmoother
from kernels.frames.native_finishing import NativeFinisher
from kernels.frames.native_smoothing import is_ready
from kernels.frames.stream_state import StreamState, part_of, under
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
Deep = NDArray[np.uint16]  # [H, W, 3] RGB
ROWS = 256  # converted at once
D = TypeVar("D", np.uint8, np.uint16)
_ANY = object()  # matches any weights, for a restored history


class PostProcessor:
    """The steps from a network's output to the displayed picture: smoothing, upsampling, blending.

    It stores the history for smoothing, separately for each network. Not thread-safe.
    """

    def __init__(self) -> None:
        self._upsampler = GuidedUpsampler()
        self._finisher: NativeFinisher | None = None
        self._smoothers: dict[str, TemporalSmoother] = {}  # by kernels
        self._weights: Hashable = None  # the key of the last frame's weights
        self._smoothed = False

    def reset_history(self) -> None:
        self._smoothers.clear()

    def begin(self, weights: Hashable, *, smoothed: bool) -> None:
        """Begin a frame. Other weights, or a frame that is not smoothed, end the history."""
        if not smoothed or self._weights not in (weights, _ANY):
            self._smoothers.clear()
        self._weights, self._smoothed = weights, smoothed

    def state(self) -> StreamState:
        """Return the state of the frames before the next one, for `restore`."""
        kept: StreamState = {}
        for kernels, smoother in self._smoothers.items():
            kept |= under(kernels, smoother.state())
        return kept

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`, with the same weights.

        Raises:
            StateError: If `state` has another frame size or comes from other kernels.
        """
        self._smoothers.clear()
        self._weights = _ANY
        for kernels in {name.partition(".")[0] for name in state}:
            smoother = self._smoothers[kernels] = TemporalSmoother()
            smoother.restore(part_of(state, kernels))

    def smooth(self, kernels: str, output: Pixels, resized: Pixels, config: EngineConfig) -> Pixels:
        """Smooth the network's output if the frame is smoothed; call once per network and frame."""
        if not self._smoothed:
            return output
        smoother = self._smoothers.setdefault(kernels, TemporalSmoother())
        return smoother.smooth(output, resized, config.smoothing)

    def enlarge(
        self, output: Pixels, resized: Pixels, source: Pixels, config: EngineConfig
    ) -> Pixels:
        """Make the displayed picture, in the frame's size, from a smoothed output."""
        guided, mixing = config.upsampling == "guided", (config.strength, config.keep_colors)
        if output.shape == source.shape or not is_ready():
            large = self._upsampler.enlarge(output, resized, source, guided=guided)
            return blend(large, source, *mixing)
        height, width, _ = output.shape
        finisher = self._finisher
        if finisher is None or finisher.size != (height, width):
            finisher = NativeFinisher(height, width)
        # Memory of larger frames, which do not come in streams, is freed.
        self._finisher = finisher if source.size <= KEPT else None
        detail = resized if guided and output.size < source.size else None
        return finisher.finish(output, detail, source, *mixing)


def deep_picture(
    output: Deep, small: Pixels, resized: Pixels, source: Deep, config: EngineConfig
) -> Deep:
    """Make the displayed picture with 16 bits per channel, unsmoothed; `small` has 8 bits."""
    large = enlarge_deep(output, small, resized, source, guided=config.upsampling == "guided")
    return blend(large, source, config.strength, config.keep_colors)


def eight_bits(pixels: Deep) -> Pixels:
    eight = np.empty(pixels.shape, np.uint8)
    for top in range(0, len(pixels), ROWS):
        rows = pixels[top : top + ROWS].astype(np.uint32)
        eight[top : top + ROWS] = (rows + 128) // 257
    return eight


def fit_to(pixels: Pixels, size: tuple[int, int], buffer: Pixels) -> Pixels:
    """Scale a picture to `size`, (width, height), into `buffer` if it has that shape."""
    width, height = size
    if buffer.shape != (height, width, 3):
        buffer = np.empty((height, width, 3), np.uint8)
    if pixels.shape == buffer.shape:
        np.copyto(buffer, pixels)
    else:
        shrinking = width * height < pixels.shape[0] * pixels.shape[1]
        how = cv2.INTER_AREA if shrinking else cv2.INTER_CUBIC
        cv2.resize(pixels, size, dst=buffer, interpolation=how)
    return buffer


def join_bands(strokes: NDArray[D], detail: NDArray[D]) -> NDArray[D]:
    """Replace the low frequencies of `detail` by `strokes`.

    A stroke has a fixed width in pixels of the network's output. Two outputs of different sizes are
    joined as two levels of a Laplacian pyramid (Burt & Adelson 1983): the smaller one provides the
    strokes, the larger one the sharpness.

    Args:
        strokes: The smaller output, [h, w, 3] uint8 or uint16.
        detail: The larger output, of the same dtype.
    """
    size = strokes.shape[1], strokes.shape[0]
    known = cv2.resize(detail, size, interpolation=cv2.INTER_AREA)
    eight = detail.dtype == np.uint8
    missing = cv2.subtract(strokes, known, dtype=cv2.CV_16S if eight else cv2.CV_32F)
    larger = (detail.shape[1], detail.shape[0])
    missing = cv2.resize(missing, larger, interpolation=cv2.INTER_CUBIC)
    joined = cv2.add(detail, missing, dtype=cv2.CV_8U if eight else cv2.CV_16U)
    return np.asarray(joined, detail.dtype)


def blend(result: NDArray[D], source: NDArray[D], strength: float, keep_colors: bool) -> NDArray[D]:
    """Mix the styled picture with the source.

    Args:
        result: The styled picture, [H, W, 3] uint8 or uint16.
        strength: 0 for the source, 1 for the result.
        keep_colors: Whether to take the chroma (of YCrCb) from the source.

    Returns:
        `result` itself if there is nothing to mix, otherwise a new picture.
    """
    out = result
    if keep_colors:
        mixed = cv2.cvtColor(source, cv2.COLOR_RGB2YCrCb)
        mixed[..., 0] = cv2.cvtColor(out, cv2.COLOR_RGB2YCrCb)[..., 0]
        out = cv2.cvtColor(mixed, cv2.COLOR_YCrCb2RGB)
    if strength < 1:
        out = cv2.addWeighted(out, strength, source, 1 - strength, 0)
    return np.ascontiguousarray(out, result.dtype)


def peak_difference(a: Tensor, b: Tensor) -> tuple[float, float]:
    """Return the largest difference of two pictures, on 0-255, and the PSNR in dB, perhaps inf."""
    difference = (a - b).abs()
    # One copy to the host, since each one waits for the GPU.
    figures = torch.stack([difference.max(), difference.square().mean()]).cpu()
    largest, error = float(figures[0]), float(figures[1])
    psnr = 10 * math.log10(255**2 / error) if error else math.inf
    return largest, psnr
