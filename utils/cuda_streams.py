"""The current CUDA stream, for code that requests it often, and a guard against GPU waits."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache

import torch


def current_stream(index: int | None = None) -> torch.cuda.Stream:
    """Return the current stream, like torch.cuda.current_stream.

    That function creates a new object each time and takes ten times as long.
    """
    if index is None:
        index = torch.cuda.current_device()
    return _known(index, raw_stream(index))


def raw_stream(index: int) -> int:
    """Return the handle of a device's current stream, for CUDA's own functions."""
    return torch._C._cuda_getCurrentRawStream(index)  # pyright: ignore


@lru_cache(maxsize=64)  # PyTorch has 32 streams of each priority, and never ends one
def _known(index: int, _raw: int) -> torch.cuda.Stream:
    return torch.cuda.current_stream(index)


@contextmanager
def on_stream(stream: torch.cuda.Stream, before: torch.cuda.Stream) -> Generator[None]:
    """Make a stream current within the block, like torch.cuda.stream, on the current device."""
    torch.cuda.set_stream(stream)
    try:
        yield
    finally:
        torch.cuda.set_stream(before)


@contextmanager
def waiting_refused() -> Generator[None]:
    """Make every wait for a GPU within the block raise RuntimeError, on any thread.

    Work runs once under this guard before its capture in a CUDA graph. PyTorch treats a failed
    capture as still in progress, and never again frees the memory of captures, until none is left.
    """
    before = torch.cuda.get_sync_debug_mode()
    try:
        with warnings.catch_warnings():
            # The first call in a process warns that some waits are not detected. If warnings are
            # errors, it raises after setting the mode.
            warnings.filterwarnings("ignore", "Synchronization debug mode")
            torch.cuda.set_sync_debug_mode("error")
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
