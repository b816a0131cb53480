"""The CUDA kernels that read the tensors of a norm of channels or groups once, and who does what.

What is normed together is a slab: the planes of a channel, or those of a group in one sample. A
team of blocks holds a slab in shared memory, each block a part, until its statistics are known.
"""

from __future__ import annotations

import functools
from ctypes import Structure, c_float, c_int, c_longlong, c_uint, c_void_p
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.fusions.arguments import BYTES, TYPES, takes_vectors
from kernels.ops.launcher import CudaLauncher, Gpu

THREADS, WARPS = 512, 16  # of a block, as in include/fusion/held.cuh
BLOCKS = 2  # of a multiprocessor
HELD_PIECES = 80  # as kHeldPieces there
_OWN_BYTES = 2048  # of a block's shared memory: what the driver takes, and what it has beside parts
_LEAST_ROW = 128  # loads of a plane; the lanes of a warp take some each
_PER_TURN = 1400  # loads in whose time a block waits for the others of its team
# Slabs of a team from which on every second one begins later: while one waits, another has memory
# to itself. With fewer, that it ends later takes longer.
_STAGGERED = 4


class StyleforgeSlabs(Structure):
    """Mirror of StyleforgeSlabs in include/fusion/slabs.h."""

    _fields_ = [
        *(
            (name, c_void_p)
            for name in (
                *("grad", "x", "result", "shift", "weight", "bias", "mean", "inverse"),
                *("of_groups", "sums", "of_blocks", "of_planes"),
            )
        ),
        ("type", c_longlong),
        *(
            (name, c_uint)
            for name in (
                *("slabs", "planes", "row", "channels", "group", "team", "part", "phases"),
            )
        ),
        ("eps", c_float),
        ("follows", c_int),
    ]


class Slabs(NamedTuple):
    """What is normed together, of dense tensors [samples, channels, inner].

    Attributes:
        samples: The first size.
        channels: The second.
        inner: Elements of a plane.
        group: Channels of a group; 0 where a channel of all samples is normed together.
    """

    samples: int
    channels: int
    inner: int
    group: int = 0

    @property
    def number(self) -> int:
        """How many there are."""
        return self.samples * self.channels // self.group if self.group else self.channels

    @property
    def planes(self) -> int:
        """Of each."""
        return self.group or self.samples


class Share(NamedTuple):
    """How blocks share slabs.

    Attributes:
        team: Blocks that share one.
        part: Loads of 16 bytes, of each tensor, that a block has of it.
        phases: Of teams, each of which begins when the one before has summed a part.
    """

    team: int
    part: int
    phases: int


class Normed(NamedTuple):
    """What tensors are normed by, FP32, as forward writes it for backward.

    Attributes:
        mean: What is subtracted, [channels], or of groups of all planes.
        inverse: The reciprocal deviations, as that.
        of_groups: Of groups [3, planes], what styleforge_groups_totals keeps beside these.
    """

    mean: Tensor
    inverse: Tensor
    of_groups: Tensor | None = None


@functools.lru_cache(maxsize=1024)
def share(gpu: Gpu, slabs: Slabs, row: int, tensors: int) -> Share | None:
    """How the blocks of a GPU share slabs; None where they cannot hold one.

    Args:
        gpu: The GPU.
        slabs: What they share.
        row: Loads of 16 bytes of a plane.
        tensors: That are read.
    """
    blocks, room = BLOCKS * gpu.multiprocessors, room_of(gpu) // (BYTES * tensors)
    if gpu.major < 8 or row < _LEAST_ROW or slabs.samples * slabs.channels * row >= 1 << 32:
        return None
    found: list[tuple[int, Share]] = []
    for team in range(1, blocks + 1):
        part = -(-slabs.planes * row // team)
        turns = -(-slabs.number // min(blocks // team, slabs.number))
        if part <= room and part // row + 2 + WARPS <= HELD_PIECES:
            phases = 2 if turns >= _STAGGERED else 1
            found.append((turns * (part + _PER_TURN), Share(team, part, phases)))
    return min(found)[1] if found else None


def room_of(gpu: Gpu) -> int:
    """Bytes of a block for its parts."""
    return max(0, gpu.shared // BLOCKS - _OWN_BYTES) // BYTES * BYTES


def shared_by(launch: CudaLauncher, slabs: Slabs, *tensors: Tensor) -> Share | None:
    """How the blocks of a GPU share the slabs of tensors that are read, if they can."""
    if not takes_vectors(slabs.inner, *tensors):
        return None
    row = slabs.inner * tensors[0].element_size() // BYTES
    return share(launch.gpu, slabs, row, len(tensors))


def forward(
    launch: CudaLauncher,
    slabs: Slabs,
    by: Share,
    x: Tensor,
    shift: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    y: Tensor,
    normed: Normed,
    eps: float,
) -> None:
    """Write y = relu(norm(x + shift) * weight + bias), and what it is normed by.

    Args:
        launch: Of the library.
        slabs: What is normed together.
        by: What `shared_by` gave of x.
        x: Dense.
        shift: FP32 [channels], of groups; or None.
        weight: FP32 [channels].
        bias: As that.
        y: As x; written.
        normed: Written.
        eps: Added to variances.
    """
    given = {"x": x, "result": y, "shift": shift, "weight": weight, "bias": bias}
    given = {**given, **normed._asdict()}
    _launch(launch, "styleforge_slabs_relu", slabs, by, given, eps=eps)


def backward(
    launch: CudaLauncher,
    slabs: Slabs,
    by: Share,
    grad: Tensor,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    normed: Normed,
    dx: Tensor,
    sums: Tensor,
    *,
    follows: bool = True,
) -> None:
    """Write the gradient of x, and sums that those of the parameters follow from.

    Args:
        launch: Of the library.
        slabs: As that of `forward`, like what is not told here.
        by: What `shared_by` gave of x and grad.
        grad: Of y.
        x: Dense.
        weight: Of channels; None of groups, whose `of_groups` has it.
        bias: As that.
        normed: What forward wrote.
        dx: As x; written.
        sums: FP32, written: [2, channels], the gradients of weight and bias, or of groups what
            styleforge_groups_gradients has of planes.
        follows: Whether what x is normed by follows from x.
    """
    given = {"grad": grad, "x": x, "result": dx, "weight": weight, "bias": bias, "sums": sums}
    given = {**given, **normed._asdict()}
    _launch(launch, "styleforge_slabs_gradient", slabs, by, given, follows=follows)


def _launch(
    launch: CudaLauncher,
    kernel: str,
    slabs: Slabs,
    by: Share,
    given: dict[str, Tensor | None],
    **numbers: float,
) -> None:
    x = given["x"]
    assert x is not None
    of_planes = by.team + slabs.planes if slabs.group else 0
    left = x.new_full(((by.team + of_planes) * slabs.number,), -1, dtype=torch.int64)
    given = {**given, "of_blocks": left, "of_planes": left[by.team * slabs.number :]}
    p = StyleforgeSlabs(
        **{name: None if of is None else of.data_ptr() for name, of in given.items()},
        type=TYPES[x.dtype],
        slabs=slabs.number,
        planes=slabs.planes,
        row=slabs.inner * x.element_size() // BYTES,
        channels=slabs.channels,
        group=slabs.group,
        **by._asdict(),
        **numbers,
    )
    gpu = launch.gpu
    teams = min(BLOCKS * gpu.multiprocessors // by.team, slabs.number)
    launch(kernel, teams * by.team, THREADS, p, shared=room_of(gpu), cooperative=True)
