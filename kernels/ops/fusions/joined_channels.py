"""Batch norms in training on a GPU with one pass over memory: how their channels are shared out.

Blocks that have parts of the same channel wait for one another, so that all blocks of a launch have
to run at once: it is a cooperative one, of no more blocks than the driver says there is room for.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.fusions.arguments import BYTES, TYPES
from kernels.ops.fusions.counts import counts_of
from kernels.ops.launcher import CudaLauncher, Gpu

FORWARD, BACKWARD = "styleforge_channels_joined", "styleforge_channels_joined_gradient"
FIRST_MAJOR = (
    8  # of the compute capability from which on copies to shared memory are not waited for
)
# As in include/fusion/joined_channels.cuh.
THREADS, STAGES, BLOCKS_OF_MULTIPROCESSOR = 512, 3, 2
_BESIDE = 1536  # bytes of shared memory that a block takes beside its stages, at most
_MOST_SLOTS = 4
# What a part takes beside its vectors, in vectors: its sums are waited for.
_OF_A_PART = 512
_MOST_VECTORS = 1 << 31  # of a channel


class Parts(NamedTuple):
    """How the channels of a tensor are shared out.

    Attributes:
        blocks: Of the launch.
        members: Parts of a channel, each of another block.
        length: Vectors of a part, but of a channel's last.
        slots: Vectors of a part that a thread holds, of each tensor.
    """

    blocks: int
    members: int
    length: int
    slots: int


def bytes_of(slots: int, tensors: int) -> int:
    """Dynamic shared memory of a block whose threads hold so many vectors of each tensor."""
    return slots * STAGES * tensors * THREADS * BYTES


def parts_for(launch: CudaLauncher, channels: int, vectors: int, tensors: int) -> Parts | None:
    """How channels are shared out among as many blocks as run at once.

    Args:
        launch: What launches.
        channels: How many.
        vectors: Of 16 bytes, of a channel.
        tensors: That are read: 1 forward, 2 backward.

    Returns:
        None where the GPU has no room for all parts of a channel at once.
    """
    slots = slots_of(launch.gpu, tensors)
    if not slots or vectors >= _MOST_VECTORS:
        return None
    kernel = FORWARD if tensors == 1 else BACKWARD
    blocks = launch.blocks_at_once(kernel, THREADS, bytes_of(slots, tensors))
    return parts_of(blocks, slots, channels, vectors)


def slots_of(gpu: Gpu, tensors: int) -> int:
    """Vectors of each tensor that a thread holds, so that two blocks share a multiprocessor."""
    if gpu.major < FIRST_MAJOR:
        return 0
    room = gpu.shared_bytes // BLOCKS_OF_MULTIPROCESSOR - _BESIDE
    return max(0, min(_MOST_SLOTS // tensors, room // bytes_of(1, tensors)))


@functools.lru_cache(maxsize=4096)
def parts_of(at_once: int, slots: int, channels: int, vectors: int) -> Parts | None:
    """How channels are shared out: all blocks work, and wait for as few parts as may be.

    Args:
        at_once: How many blocks run at once.
        slots: Vectors that a thread holds.
        channels: How many.
        vectors: Of a channel.

    Returns:
        None where there is no room for all parts of a channel at once.
    """
    best: tuple[int, Parts] | None = None
    for wanted in range(-(-vectors // (slots * THREADS)), at_once + 1):
        length = -(-vectors // wanted)
        members = -(-vectors // length)
        blocks = min(channels * members, at_once)
        takes = -(-channels * members // blocks) * (length + _OF_A_PART)
        if best is None or takes < best[0]:
            best = takes, Parts(blocks, members, length, slots)
    return None if best is None else best[1]


def forward(
    launch: CudaLauncher,
    parts: Parts,
    x: Tensor,
    shape: tuple[int, int, int],
    of: tuple[Tensor, Tensor, Tensor, Tensor],
    y: Tensor,
    eps: float,
) -> None:
    """Statistics of a batch, its norm and ReLU.

    Args:
        launch: What launches.
        parts: How the channels are shared out.
        x: Dense, [samples, channels, inner].
        shape: These.
        of: FP32 [channels]: the mean and the reciprocal deviation, which are written, weight, bias.
        y: As x, written.
        eps: Added to the variance.
    """
    _launch(launch, FORWARD, parts, 1, shape, (x, *of, y), float(eps))


def backward(
    launch: CudaLauncher,
    parts: Parts,
    grad: Tensor,
    x: Tensor,
    shape: tuple[int, int, int],
    of: tuple[Tensor, Tensor, Tensor, Tensor],
    dx: Tensor,
) -> Tensor:
    """The gradient by x, which is written to `dx`, where the statistics follow from x.

    Args:
        launch: What launches.
        parts: How the channels are shared out.
        grad: Of the result, as x.
        x: Dense, [samples, channels, inner].
        shape: These.
        of: FP32 [channels]: the mean and the reciprocal deviation, weight, bias.
        dx: As x, written.

    Returns:
        FP32 [2, channels]: the gradients of weight and bias.
    """
    sums = of[0].new_empty((2, shape[1]))
    _launch(launch, BACKWARD, parts, 2, shape, (grad, x, *of, sums, dx))
    return sums


def _launch(
    launch: CudaLauncher,
    kernel: str,
    parts: Parts,
    read: int,
    shape: tuple[int, int, int],
    tensors: tuple[Tensor, ...],
    *numbers: float,
) -> None:
    x, channels = tensors[0], shape[1]
    partial = x.new_empty((channels, parts.members, 2), dtype=torch.float32)
    launch(
        kernel,
        parts.blocks,
        THREADS,
        *tensors,
        partial,
        counts_of(launch, x.device, channels),
        TYPES[x.dtype],
        *shape,
        parts.length,
        parts.members,
        parts.slots,
        *numbers,
        shared_bytes=bytes_of(parts.slots, read),
        cooperative=True,
    )
