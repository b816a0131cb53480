"""The CUDA kernels that read the tensors of a channel or group norm once, and their work split.

A slab is one normalization group: the planes of a channel, or of a group in one sample. A team of
blocks keeps a slab in shared memory, each block one part, until its statistics are known.
"""

from __future__ import annotations

import functools
from ctypes import Structure, c_float, c_int, c_longlong, c_uint, c_void_p
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.general.fusion.arguments import BYTES, TYPES, takes_vectors
from kernels.table.launcher import CudaLauncher, Gpu

THREADS, WARPS = 512, 16  # per block, as in held.cuh
BLOCKS = 2  # per multiprocessor
HELD_PIECES = 80  # as kHeldPieces there
_OWN_BYTES = 2048  # of a block's shared memory, for the driver and for everything but the parts
_LEAST_ROW = 128  # loads per plane; each lane of a warp issues some
_PER_TURN = 1400  # loads in the time that a block waits for the others of its team
# From this many slabs per team on, every second team begins later: while one waits, another has the
# memory to itself. With fewer slabs, the later end costs more than that gains.
_STAGGERED = 4


class StyleforgeSlabs(Structure):
    """Mirror of StyleforgeSlabs in slabs.h."""

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
    """The normalization groups of dense tensors [samples, channels, inner].

    `group` is the channels per group; 0 to normalize a channel over all samples.
    """

    samples: int
    channels: int
    inner: int
    group: int = 0

    @property
    def number(self) -> int:
        return self.samples * self.channels // self.group if self.group else self.channels

    @property
    def planes(self) -> int:
        return self.group or self.samples


class Share(NamedTuple):
    """The split of slabs among blocks.

    Attributes:
        team: Blocks per slab.
        part: 16-byte loads per block, of each tensor.
        phases: Phases of teams. Each begins after the previous one has summed a part.
    """

    team: int
    part: int
    phases: int


class Normed(NamedTuple):
    """The FP32 statistics of a norm, as the forward pass writes them for backward.

    Attributes:
        mean: The subtracted values, [channels], or of all planes for groups.
        inverse: The reciprocal standard deviations, in the same shape.
        of_groups: For groups [3, planes], the other numbers that styleforge_groups_totals writes.
    """

    mean: Tensor
    inverse: Tensor
    of_groups: Tensor | None = None


@functools.lru_cache(maxsize=1024)
def share(gpu: Gpu, slabs: Slabs, row: int, tensors: int) -> Share | None:
    """Return how the blocks of a GPU share the slabs (normalization groups) of the tensors to read.

    Return None if the blocks together cannot hold a slab. `row` is the number of 16-byte loads per
    plane.
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
    """Return a block's bytes for its parts."""
    return max(0, gpu.shared // BLOCKS - _OWN_BYTES) // BYTES * BYTES


def shared_by(launch: CudaLauncher, slabs: Slabs, *tensors: Tensor) -> Share | None:
    """Return how a GPU's blocks share the slabs (normalization groups) of `tensors`, or None.

    They cannot share them if a slab does not fit, or the tensors do not allow 16-byte loads.
    """
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
    """Write y = relu(norm(x + shift) * weight + bias) and the statistics of the norm, `normed`.

    Args:
        by: Result of `shared_by` for x, a dense tensor like y.
        shift: FP32 [channels] for groups, or None.
        weight: FP32 [channels], like `bias`.
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
    """Write the gradient of x, `dx`, and the sums behind the gradients of the parameters.

    All other arguments match `forward`; `grad` is the gradient of y.

    Args:
        by: Result of `shared_by` for x and grad, dense tensors.
        weight: [channels], like `bias`; None for groups, whose `of_groups` contains it.
        sums: FP32 output: [2, channels], the gradients of weight and bias; for groups, the plane
            sums that styleforge_groups_gradients reads.
        follows: Whether the statistics depend on x.
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
