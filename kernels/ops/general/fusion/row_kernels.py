"""Kernel launches of layer and RMS norms over rows, on the CPU and on a GPU."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.general.fusion.arguments import TYPES, takes_vectors
from kernels.ops.general.fusion.rows import (
    NUMBERS,
    Norm,
    Rows,
    checked,
    checked_backward,
    reference,
    reference_backward,
)
from kernels.table.launcher import CpuLauncher, CudaLauncher

LEAST_THREADS, WARP = 128, 32
SUMMED = 32  # columns of both parameters that a block of 1,024 threads sums over teams


class Block(NamedTuple):
    """The partition of rows in a norm kernel.

    Attributes:
        held: Elements of a row in a thread's registers, as in row_norm.cuh.
        threads: The most threads of a block, which a row uses if it is that wide.
        at_once: Blocks of that size that fit a multiprocessor's registers.
    """

    held: int
    threads: int
    at_once: int

    @property
    def most_width(self) -> int:
        return self.held * self.threads


FORWARD, FORWARD_HALF = Block(16, 512, 2), Block(32, 512, 2)  # the latter for vectors of 16 bits
BACKWARD, BACKWARD_ELEMENTS = Block(16, 256, 2), Block(8, 512, 1)
MOST_WIDTH = FORWARD.most_width
MOST_WIDTH_BACKWARD = min(BACKWARD.most_width, BACKWARD_ELEMENTS.most_width)
PARTS_ON_CPU = 32  # of all rows; each part sums its parameter gradients


def forward_on_cpu(
    launch: CpuLauncher,
    norm: Norm,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    given = checked(norm.name, x, normalized_shape, weight, bias, launch, residual=residual)
    if _runs_on_pytorch(given):
        return reference(norm, x, normalized_shape, weight, bias, eps, residual)
    y = torch.empty_like(given.x)
    total = given.x if residual is None else torch.empty_like(given.x)
    statistics = given.x.new_empty((given.rows, 2), dtype=torch.float32)
    launch(
        "styleforge_row_norm_cpu",
        given.x,
        *given.same,
        *_parameters(given),
        total,
        y,
        statistics,
        TYPES[given.x.dtype],
        NUMBERS[norm.activation],
        given.rows,
        given.width,
        norm.centered,
        float(eps),
    )
    return total, y, statistics


def backward_on_cpu(
    launch: CpuLauncher,
    grad: Tensor,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    statistics: Tensor,
    added: Tensor | None,
    activation: str,
    centered: bool,
    eps: float,
) -> list[Tensor]:
    given = checked_backward(
        grad, x, normalized_shape, weight, bias, statistics, added, activation, launch
    )
    if _runs_on_pytorch(given):
        return reference_backward(
            grad, x, normalized_shape, weight, bias, statistics, added, activation, centered, eps
        )
    dx, parts = torch.empty_like(given.x), min(PARTS_ON_CPU, given.rows)
    partial = torch.empty(parts, 2, given.width)
    dtype = given.x.dtype
    launch(
        "styleforge_row_norm_backward_cpu",
        *given.same,
        given.x,
        *_parameters(given),
        statistics.float().contiguous(),
        dx,
        partial,
        TYPES[dtype],
        NUMBERS[activation],
        given.rows,
        given.width,
        parts,
        centered,
    )
    return [dx, *_of_parameters(given, partial)]


def _parameters(given: Rows) -> tuple[Tensor, Tensor]:
    """Return weight and bias in FP32; ones and zeros replace missing ones."""
    weight, bias = given.weight, given.bias
    return (
        torch.ones(given.width) if weight is None else weight.float(),
        torch.zeros(given.width) if bias is None else bias.float(),
    )


def _of_parameters(given: Rows, partial: Tensor) -> list[Tensor]:
    sums = partial.sum(0)
    return [
        sums[at].to(parameter.dtype).reshape(parameter.shape)
        for at, parameter in enumerate((given.weight, given.bias))
        if parameter is not None
    ]


def forward_on_cuda(
    launch: CudaLauncher,
    norm: Norm,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    given = checked(norm.name, x, normalized_shape, weight, bias, launch, residual=residual)
    if _runs_on_pytorch(given, MOST_WIDTH):
        return reference(norm, x, normalized_shape, weight, bias, eps, residual)
    y = torch.empty_like(given.x)
    total = given.x if residual is None else torch.empty_like(given.x)
    statistics = given.x.new_empty((given.rows, 2), dtype=torch.float32)
    read = given.x, *given.same, given.weight, given.bias
    vector = takes_vectors(given.width, *read)
    block = FORWARD_HALF if vector and given.x.element_size() == 2 else FORWARD
    team, threads = _team(given.width, block.held)
    launch(
        "styleforge_row_norm",
        -(-given.rows // (threads // team)),
        threads,
        *read,
        None if residual is None else total,
        y,
        statistics,
        TYPES[given.x.dtype],
        vector,
        NUMBERS[norm.activation],
        given.rows,
        given.width,
        team,
        norm.centered,
        float(eps),
    )
    return total, y, statistics


def backward_on_cuda(
    launch: CudaLauncher,
    grad: Tensor,
    x: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    statistics: Tensor,
    added: Tensor | None,
    activation: str,
    centered: bool,
    eps: float,
) -> list[Tensor]:
    given = checked_backward(
        grad, x, normalized_shape, weight, bias, statistics, added, activation, launch
    )
    if _runs_on_pytorch(given, MOST_WIDTH_BACKWARD):
        return reference_backward(
            grad, x, normalized_shape, weight, bias, statistics, added, activation, centered, eps
        )
    dx, dtype = torch.empty_like(given.x), given.x.dtype
    read = *given.same, given.x, given.weight, given.bias
    vector = takes_vectors(given.width, *read)
    block = BACKWARD if vector else BACKWARD_ELEMENTS
    team, threads = _team(given.width, block.held)
    at_once = threads // team
    # As many blocks as run at once: a block with several rows sums their parameter gradients.
    most = block.at_once * block.threads // threads
    blocks = min(-(-given.rows // at_once), launch.gpu.multiprocessors * most)
    partial = None
    if given.weight is not None or given.bias is not None:
        partial = dx.new_empty((blocks * at_once, 2, given.width), dtype=torch.float32)
    launch(
        f"styleforge_row_norm_backward{'' if vector else '_elements'}",
        blocks,
        threads,
        *read,
        statistics.float().contiguous(),
        dx,
        partial,
        TYPES[dtype],
        NUMBERS[activation],
        given.rows,
        given.width,
        team,
        centered,
    )
    if partial is None:
        return [dx]
    parameters = given.weight, given.bias
    made = [None if x is None else torch.empty_like(x) for x in parameters]
    launch(
        "styleforge_row_norm_parameters",
        -(-2 * given.width // SUMMED),
        1024,
        partial,
        *made,
        TYPES[dtype],
        blocks * at_once,
        given.width,
        overlap=True,
    )
    return [dx, *(x for x in made if x is not None)]


def _team(width: int, held: int) -> tuple[int, int]:
    """Return the threads per row, a power of two, and per block."""
    team = WARP
    while team * held < width:
        team *= 2
    return team, max(team, LEAST_THREADS)


def _runs_on_pytorch(given: Rows, most: int | None = None) -> bool:
    """Return whether no kernel supports these rows; `most` is the widest supported row."""
    return (
        given.x.dtype not in TYPES
        or not given.x.numel()
        or (most is not None and given.width > most)
    )
