"""The CUDA kernels that pass over channels, or over planes in their place, and their blocks."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.fusions.arguments import TYPES, takes_vectors
from kernels.ops.launcher import CudaLauncher

THREADS, WARP = 256, 32
_BLOCKS = 8  # of a pass over small planes, for each multiprocessor
_TOGETHER = 4  # loads of a thread in a chunk of a large plane, as kTogether in channels.cuh
# Loads of a thread where channels are summed, of all tensors, as kAhead there; and of each lane
# of a warp in a plane at least.
_AHEAD, _LEAST = 8, 4
_AT_ONCE = 1024  # threads of a multiprocessor, which has registers for so many


class Passes:
    """The kernels of fusion.cu over dense tensors [samples, channels, inner].

    Args:
        launch: Of the library.
        shape: The three sizes; `inner` is 1 where channels lie together.
        dtype: Of the tensors.
    """

    def __init__(
        self, launch: CudaLauncher, shape: tuple[int, int, int], dtype: torch.dtype
    ) -> None:
        self._launch, self._dtype = launch, dtype
        self._samples, self._channels, self._inner = shape
        self._count = self._samples * self._channels * self._inner

    def sums(self, grad: Tensor | None, x: Tensor, *of: Tensor | None) -> tuple[Tensor, int]:
        """FP32 [channels, splits, 2], as styleforge_channels_sums has them, and the splits.

        Args:
            grad: Of the result; None for sums of x.
            x: What was normed.
            of: Four FP32 tensors of channels: what x is normed by, weight and bias; or None.
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
        """Threads of a block that sums planes, blocks for a channel, and loads of a warp's chunk.

        All of a channel's blocks run at once where there are not too many channels: they reach the
        last sample together, which is where the pass that follows begins.
        """
        row = self._inner // (16 // self._dtype.itemsize if vector else 1)
        parts = -(-row // (WARP * _AHEAD // tensors))
        chunk = -(-row // (parts * WARP)) * WARP
        each = self._samples * -(-row // chunk)  # chunks of a channel
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
        """Write what styleforge_channels_totals makes of `sums`: sums, or statistics of x."""
        channels, each = self._channels, self._samples * self._inner
        self._launch(
            "styleforge_channels_totals", -(-channels * WARP // THREADS), THREADS, partial, x,
            first, second, TYPES[self._dtype], splits, channels, self._inner, each, float(eps),
        )  # fmt: skip

    def relu(
        self, x: Tensor, *of: Tensor, kept: tuple[Tensor, Tensor] | None = None, eps: float = 0.0
    ) -> None:
        """Write what is normed, through ReLU.

        Args:
            x: What is normed.
            of: As that of `sums`, and what is written.
            kept: Where means and reciprocal deviations are written, if those of `of` are variances.
            eps: Added to these.
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
        """Write the gradient of x.

        Args:
            grad: Of the result.
            x: What was normed.
            of: As that of `sums`.
            sums: As styleforge_channels_gradient takes them.
            dx: Where it is written to.
            each: As that.
        """
        vector, chunks = self._work(x, grad)
        self._launch(
            "styleforge_channels_gradient", self._blocks(vector, chunks), THREADS, grad, x, *of,
            sums, dx, TYPES[self._dtype], vector, self._count, self._channels, self._inner, each,
            chunks,
        )  # fmt: skip

    def _work(self, *tensors: Tensor) -> tuple[bool, int]:
        """Whether vectors are taken, and chunks of a plane, of a few loads for each thread.

        There are 0 where planes are too small.
        """
        # Of a dense tensor, what lies together: a channel's elements, or the channels.
        vector = takes_vectors(self._inner if self._inner > 1 else self._channels, *tensors)
        tile = THREADS * (16 // self._dtype.itemsize if vector else 1)
        return vector, -(-self._inner // (_TOGETHER * tile)) if self._inner >= tile else 0

    def _blocks(self, vector: bool, chunks: int) -> int:
        if chunks:
            return self._samples * self._channels * chunks
        groups = self._count // (16 // self._dtype.itemsize if vector else 1)
        most = _BLOCKS * self._launch.gpu.multiprocessors
        return max(1, min(-(-groups // THREADS), most))
