"""The current CUDA stream, for code that asks for it often; and refusing to wait for a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache

import torch


def current_stream(index: int | None = None) -> torch.cuda.Stream:
    """As torch.cuda.current_stream, which makes a new object each time and takes ten times as long.

    Args:
        index: Of a CUDA device; the current one by default.
    """
    if index is None:
        index = torch.cuda.current_device()
    return _known(index, raw_stream(index))


def raw_stream(index: int) -> int:
    """The handle of a device's current stream, as CUDA's own functions take it."""
    return torch._C._cuda_getCurrentRawStream(index)  # pyright: ignore


@lru_cache(maxsize=64)  # PyTorch has 32 streams of each priority, and never ends one
def _known(index: int, _raw: int) -> torch.cuda.Stream:
    return torch.cuda.current_stream(index)


@contextmanager
def on_stream(stream: torch.cuda.Stream, before: torch.cuda.Stream) -> Generator[None]:
    """As torch.cuda.stream, on the current device.

    Args:
        stream: Made current.
        before: The current stream of the device, which is so again afterwards.
    """
    torch.cuda.set_stream(stream)
    try:
        yield
    finally:
        torch.cuda.set_stream(before)


@contextmanager
def waiting_refused() -> Generator[None]:
    """Within it, what waits for a GPU raises RuntimeError, on any thread.

    What is to be captured in a CUDA graph runs in it once before: PyTorch takes a capture that
    fails for one that goes on, and never again frees the memory that it keeps, until none is left.
    """
    before = torch.cuda.get_sync_debug_mode()
    try:
        with warnings.catch_warnings():
            # The first call in a process warns that some waiting is not noticed. Where warnings are
            # errors, it raises once the mode is set.
            warnings.filterwarnings("ignore", "Synchronization debug mode")
            torch.cuda.set_sync_debug_mode("error")
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
