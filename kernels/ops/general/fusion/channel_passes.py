"""The CUDA kernels that pass over the channels of a batch norm or the planes of a group norm.

This module also chooses their grids.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.general.fusion.arguments import TYPES, takes_vectors
from kernels.table.launcher import CudaLauncher

THREADS, WARP = 256, 32
_BLOCKS = 8  # per multiprocessor, for a pass over small planes
_TOGETHER = 4  # loads per thread in a chunk of a large plane, as kTogether in channels.cuh
# Loads per thread of all tensors for channel sums, as kAhead there; and the fewest loads per lane
# of a warp in a plane.
_AHEAD, _LEAST = 8, 4
_AT_ONCE = 1024  # threads that fit a multiprocessor's registers


class Passes:
    """The kernels of fusion.cu over dense [samples, channels, inner], inner 1 for channels last."""

    def __init__(
        self, launch: CudaLauncher, shape: tuple[int, int, int], dtype: torch.dtype
    ) -> None:
        self._launch, self._dtype = launch, dtype
        self._samples, self._channels, self._inner = shape
        self._count = self._samples * self._channels * self._inner

    def sums(self, grad: Tensor | None, x: Tensor, *of: Tensor | None) -> tuple[Tensor, int]:
        """Return FP32 [channels, splits, 2] of styleforge_channels_sums, and the splits.

        `grad` is the gradient of the result; None for sums of x. `of` has four FP32 [channels]
        tensors: the mean and inverse deviation of x, weight and bias; or None.
        """
        channels, inner, size = self._channels, self._inner, self._dtype.itemsize
        vector = inner > 1 and takes_vectors(inner, x, grad)
        blocks = channels if inner > 1 else -(-channels // WARP)
        if inner * size >= WARP * _LEAST * (16 if vector else size):
            threads, splits, chunk = self._shares(vector, 1 if grad is None else 2)
        else:
            most = _BLOCKS * self._launch.gpu.multiprocessors // blocks
            splits = max(1, min(most, self._samples * inner // THREADS))
            threads, chunk = THREADS, 0
        partial = torch.empty((channels, splits, 2), dtype=torch.float32, device=x.device)
        self._launch(
            "styleforge_channels_sums", blocks * splits, threads, grad, x, *of, partial,
            TYPES[self._dtype], vector, self._samples, channels, inner, splits, chunk,
        )  # fmt: skip
        return partial, splits

    def _shares(self, vector: bool, tensors: int) -> tuple[int, int, int]:
        """Return threads per block, blocks per channel, and loads per chunk of a warp.

        All blocks of a channel run at once unless there are too many channels. They reach the last
        sample together, which is where the next pass begins.
        """
        row = self._inner // (16 // self._dtype.itemsize if vector else 1)
        parts = -(-row // (WARP * _AHEAD // tensors))
        chunk = -(-row // (parts * WARP)) * WARP
        each = self._samples * -(-row // chunk)  # chunks per channel
        warps = min(THREADS // WARP, 1 << each.bit_length() - 1)
        at_once = _AT_ONCE // (WARP * warps) * self._launch.gpu.multiprocessors
        return WARP * warps, max(1, min(at_once // self._channels, -(-each // warps))), chunk

    def totals(
        self,
        partial: Tensor,
        splits: int,
        x: Tensor | None,
        first: Tensor,
        second: Tensor,
        eps: float,
    ) -> None:
        """Run styleforge_channels_totals on `sums`: write their totals, or the statistics of x."""
        channels, each = self._channels, self._samples * self._inner
        self._launch(
            "styleforge_channels_totals", -(-channels * WARP // THREADS), THREADS, partial, x,
            first, second, TYPES[self._dtype], splits, channels, self._inner, each, float(eps),
        )  # fmt: skip

    def relu(
        self, x: Tensor, *of: Tensor, kept: tuple[Tensor, Tensor] | None = None, eps: float = 0.0
    ) -> None:
        """Write the normalized values through ReLU.

        `of` is as in `sums`, then the output. `kept` has outputs for means and reciprocal standard
        deviations, if `of` has variances, to which `eps` is added.
        """
        vector, chunks = self._work(x)
        self._launch(
            "styleforge_channels_relu", self._blocks(vector, chunks), THREADS, x, *of,
            *(kept or (None, None)), float(eps),
            TYPES[self._dtype], vector, self._count, self._channels, self._inner, chunks,
        )  # fmt: skip

    def gradient(
        self, grad: Tensor, x: Tensor, *of: Tensor, sums: Tensor | None, dx: Tensor, each: int
    ) -> None:
        """Write the gradient of x to `dx`, from the result's, `grad`.

        `of` is as in `sums`; `sums` and `each` are as in styleforge_channels_gradient.
        """
        vector, chunks = self._work(x, grad)
        self._launch(
            "styleforge_channels_gradient", self._blocks(vector, chunks), THREADS, grad, x, *of,
            sums, dx, TYPES[self._dtype], vector, self._count, self._channels, self._inner, each,
            chunks,
        )  # fmt: skip

    def _work(self, *tensors: Tensor) -> tuple[bool, int]:
        """Return whether to read vectors, and the chunks per plane, a few loads per thread.

        The chunks are 0 for planes that are too small.
        """
        # The contiguous run of a dense tensor: a channel's elements, or the channels.
        vector = takes_vectors(self._inner if self._inner > 1 else self._channels, *tensors)
        tile = THREADS * (16 // self._dtype.itemsize if vector else 1)
        return vector, -(-self._inner // (_TOGETHER * tile)) if self._inner >= tile else 0

    def _blocks(self, vector: bool, chunks: int) -> int:
        if chunks:
            return self._samples * self._channels * chunks
        groups = self._count // (16 // self._dtype.itemsize if vector else 1)
        most = _BLOCKS * self._launch.gpu.multiprocessors
        return max(1, min(-(-groups // THREADS), most))
