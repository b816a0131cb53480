"""What decides how a GPU runs the network: its capability, shared memory and multiprocessors."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import torch

_limit: ContextVar[int | None] = ContextVar("multiprocessors of a part of the GPU", default=None)


class _Properties(Protocol):
    major: int
    minor: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    multi_processor_count: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """A kind of GPU.

    Attributes:
        capability: Its compute capability, such as (9, 0).
        shared_bytes: The most shared memory that a block can have, in bytes.
        shared_bytes_of_multiprocessor: What the blocks of a multiprocessor have together.
        multiprocessors: How many it has.
    """

    capability: tuple[int, int]
    shared_bytes: int
    shared_bytes_of_multiprocessor: int
    multiprocessors: int

    @classmethod
    def of(cls, device: torch.device) -> Gpu:
        """The GPU that `device` names."""
        cuda: Any = torch.cuda  # PyTorch gives no type to what this returns
        found: _Properties = cuda.get_device_properties(device)
        return cls(
            (found.major, found.minor),
            found.shared_memory_per_block_optin,
            found.shared_memory_per_multiprocessor,
            _limit.get() or found.multi_processor_count,
        )


@contextmanager
def limited_to(multiprocessors: int) -> Generator[None]:
    """Have plans made within the block for a part of a GPU, which is measured in place of a smaller
    one; see tools/time_model/.

    Args:
        multiprocessors: Of the part.
    """
    token = _limit.set(multiprocessors)
    try:
        yield
    finally:
        _limit.reset(token)
