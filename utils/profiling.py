"""Profiles a network: NVTX ranges for Nsight, and PyTorch's own profiler."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity


def nvtx_range(name: str) -> AbstractContextManager[object]:
    """Return a range that Nsight Systems and Nsight Compute show around the work submitted within.

    It does nothing if CUDA is not initialized, or while `torch.compile` is tracing.
    """
    if torch.compiler.is_compiling() or not torch.cuda.is_initialized():
        return nullcontext()
    return torch.cuda.nvtx.range(name)


def recorded(name: str) -> AbstractContextManager[object]:
    """Return a range that PyTorch's profiler lists, for native work that is not an operation.

    It does nothing while no profiler records.
    """
    # PyTorch has no public name for this query.
    if not torch.autograd.profiler._is_profiler_enabled:  # pyright: ignore[reportPrivateUsage]
        return nullcontext()
    return torch.profiler.record_function(name)


@contextmanager
def profiled(
    trace: str | os.PathLike[str] | None = None, *, shapes: bool = False
) -> Iterator[torch.profiler.profile]:
    """Profile the operations of a block on the CPU, and on the GPU if CUDA is initialized.

    Args:
        trace: The file for the timeline, for chrome://tracing or Perfetto, or None; its folder
            must exist, else OSError.
        shapes: Whether to record the shapes of the operations' inputs.

    Yields:
        PyTorch's profiler, for use after the block, for example by `summary`.
    """
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_initialized():
        activities.append(ProfilerActivity.CUDA)
    with torch.profiler.profile(
        activities=activities, record_shapes=shapes, acc_events=True
    ) as profiler:
        yield profiler
        if ProfilerActivity.CUDA in activities:
            torch.cuda.synchronize()
    if trace is not None:
        Path(trace).touch()  # raises if the file cannot be written, which PyTorch only logs
        profiler.export_chrome_trace(os.fspath(trace))


def summary(profiler: torch.profiler.profile, rows: int = 15) -> str:
    """Tabulate the slowest operations of a profiler from `profiled`, after its block.

    They are sorted by their own time, without operations they call: the GPU's if profiled.
    """
    recorded = ProfilerActivity.CUDA in profiler.activities
    order = "self_cuda_time_total" if recorded else "self_cpu_time_total"
    return profiler.key_averages().table(sort_by=order, row_limit=rows)
