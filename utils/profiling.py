"""Shows where the time of a network goes: NVTX ranges for Nsight, and PyTorch's own profiler."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity


def nvtx_range(name: str) -> AbstractContextManager[object]:
    """A range that Nsight Systems and Nsight Compute show around the work submitted within.

    Args:
        name: The label, such as "encoder".

    Returns:
        A context manager. It does nothing while CUDA is not in use, and starts no CUDA context;
        it does nothing while `torch.compile` traces, either.
    """
    if torch.compiler.is_compiling() or not torch.cuda.is_initialized():
        return nullcontext()
    return torch.cuda.nvtx.range(name)


@contextmanager
def profiled(
    trace: str | os.PathLike[str] | None = None, *, shapes: bool = False
) -> Iterator[torch.profiler.profile]:
    """Record what runs within on the CPU, and on the GPU where one is in use.

    Args:
        trace: Where to write the timeline, for chrome://tracing or Perfetto; its folder exists.
        shapes: Whether to record the shapes of the operations' inputs.

    Yields:
        PyTorch's profiler; ask it, or `summary`, after the block.

    Raises:
        OSError: The timeline cannot be written.
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
        Path(trace).touch()  # PyTorch only logs that it could not write
        profiler.export_chrome_trace(os.fspath(trace))


def summary(profiler: torch.profiler.profile, rows: int = 15) -> str:
    """The operations that took longest, as a table.

    Args:
        profiler: What `profiled` gave, after its block.
        rows: How many operations to list.

    Returns:
        A table of text, sorted by the time spent on the GPU if one was recorded, otherwise on
        the CPU; in both cases without the operations called within.
    """
    recorded = ProfilerActivity.CUDA in profiler.activities
    order = "self_cuda_time_total" if recorded else "self_cpu_time_total"
    return profiler.key_averages().table(sort_by=order, row_limit=rows)
