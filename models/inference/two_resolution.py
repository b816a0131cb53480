"""A runner that styles a frame with the native network at two sizes and joins them on the GPU.

The arithmetic equals app.engine.post.blending on the CPU: area interpolation for shrinking, cubic
for enlarging.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.graph_plan import GraphPlan, StageCallback
from models.inference.frame_pipeline import Pixels, Result, SingleFrameRunner, is_broken


class TwoResolutionRunner:
    """A runner of `strokes`, a smaller plan for low frequencies, then `detail` for the others.

    Not thread-safe; for inference mode.
    """

    def __init__(self, strokes: SingleFrameRunner, detail: SingleFrameRunner) -> None:
        self.strokes, self.detail = strokes, detail

    def style(self, pixels: Pixels, mark: StageCallback) -> Result:
        """Stylize a frame, [H, W, 3] uint8, RGB, of the larger size; the caller owns the result.

        Calls `mark` as SingleFrameRunner.style does, with the groups of layers twice.
        """
        small, large = self.strokes.plan, self.detail.plan
        self.detail.send(pixels, mark)
        small.frames.copy_(shrink(large.frames, *_size(small)))
        large.replay(mark)
        small.replay(mark)
        joined = join(small.pictures, large.pictures)
        picture = torch.empty(joined.shape, dtype=torch.uint8, pin_memory=True)
        picture.copy_(joined, non_blocking=True)
        ranges = [plan.ranges.to("cpu", non_blocking=True) for plan in (small, large)]
        mark("download")
        torch.cuda.current_stream(large.device).synchronize()
        return Result(picture.numpy()[0], any(is_broken(each) for each in ranges))


def join(strokes: Tensor, detail: Tensor) -> Tensor:
    """Replace the low frequencies of `detail` by `strokes`; see join_bands in app/engine/post.

    `strokes` is [N, h, w, 3] uint8, `detail` and the result are [N, H, W, 3] uint8.
    """
    known = shrink(detail, *strokes.shape[1:3])
    missing = strokes.float() - known.float()
    size = (detail.shape[1], detail.shape[2])
    missing = F.interpolate(missing.permute(0, 3, 1, 2), size=size, mode="bicubic")
    joined = detail.float() + missing.round().permute(0, 2, 3, 1)
    return joined.clamp(0, 255).to(torch.uint8)


def shrink(pictures: Tensor, height: int, width: int) -> Tensor:
    """Shrink [N, H, W, 3] uint8 to at most H and W: a pixel is the mean of the area it covers."""
    count, rows, columns, channels = pictures.shape
    over_rows = _areas(rows, height, pictures.device)  # [height, H]
    over_columns = _areas(columns, width, pictures.device)  # [width, W]
    narrow = torch.einsum("wc,nrck->nrwk", over_columns, pictures.float())
    small = over_rows @ narrow.reshape(count, rows, width * channels)
    return small.round().to(torch.uint8).reshape(count, height, width, channels)


@functools.lru_cache(maxsize=16)
def _areas(many: int, few: int, device: torch.device) -> Tensor:
    """Return the weights of area interpolation: [few, many] float32, rows that sum to 1."""
    edges = np.linspace(0, many, few + 1)
    first, last = edges[:-1, None], edges[1:, None]
    pixels = np.arange(many)[None, :]
    covered = np.clip(np.minimum(last, pixels + 1) - np.maximum(first, pixels), 0, None)
    shares = covered / covered.sum(axis=1, keepdims=True)
    return torch.as_tensor(shares.astype(np.float32)).to(device)


def _size(plan: GraphPlan) -> tuple[int, int]:
    return plan.frames.shape[1], plan.frames.shape[2]
