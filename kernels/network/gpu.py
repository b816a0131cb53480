"""The GPU properties that decide how the network runs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import torch


class _Properties(Protocol):
    major: int
    minor: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    multi_processor_count: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """A kind of GPU: its compute capability, such as (9, 0), and its shared memory in bytes.

    `shared_bytes` is the maximum of a block, the other the sum of all blocks of a multiprocessor.
    """

    capability: tuple[int, int]
    shared_bytes: int
    shared_bytes_of_multiprocessor: int
    multiprocessors: int

    @classmethod
    def of(cls, device: torch.device) -> Gpu:
        """Return the GPU that `device` names, or its replacement, see `standing_for`."""
        if (other := _other.get()) is not None:
            return other
        indexed = str(device) != device.type
        return _gpu(device.index if indexed else torch.cuda.current_device())


@cache
def _gpu(index: int) -> Gpu:
    """Return the GPU cuda:`index`; cached, because every frame needs it."""
    cuda: Any = torch.cuda  # PyTorch has no type for the result
    found: _Properties = cuda.get_device_properties(index)
    return Gpu(
        (found.major, found.minor),
        found.shared_memory_per_block_optin,
        found.shared_memory_per_multiprocessor,
        found.multi_processor_count,
    )


_other: ContextVar[Gpu | None] = ContextVar("the GPU that plans are made for", default=None)


@contextmanager
def standing_for(gpu: Gpu) -> Generator[None]:
    """Make plans within the block for `gpu`, although the present GPU runs them.

    Measurements of the present GPU can thus stand for the other, see benchmarks/time_model/.
    """
    token = _other.set(gpu)
    try:
        yield
    finally:
        _other.reset(token)
