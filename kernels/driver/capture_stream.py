"""Streams for capturing CUDA graphs, each with its own cuBLAS workspace."""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from ctypes import byref, c_void_p

import torch
import torch.nn.functional as F

from kernels.driver.driver import Driver
from kernels.jit.errors import BuildError

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: does not wait for the legacy default stream
_lock = threading.Lock()
_free: defaultdict[int, list[_Lane]] = defaultdict(list)  # by device index


class CaptureStream:
    """A stream to capture graphs that run one after another; keep it as long as they run.

    A captured product writes to cuBLAS's workspace whenever its graph runs. PyTorch has one
    workspace per stream, and frees it while the graph lives: for all streams when torch.compile
    makes CUDA graphs, and in version 2.13 also for a stream when a graph captured on it ends
    (https://github.com/pytorch/pytorch/issues/193402). Tensors then get this memory, which the
    graph overwrites. Here, workspaces are in memory that nothing else can get.

    Raises:
        BuildError: If the driver is missing, is older than the kernels need, or makes no stream.
    """

    def __init__(self, device: torch.device) -> None:
        index = device.index
        with _lock:
            found = _free[index].pop() if _free[index] else None
        self._lane = _Lane(index) if found is None else found
        # PyTorch never forgets a stream's workspace, so lanes are reused until the process ends.
        weakref.finalize(self, _free[index].append, self._lane).atexit = False

    @property
    def handle(self) -> int:
        """The CUstream."""
        return self._lane.stream.cuda_stream

    @contextmanager
    def capture(self, graph: torch.cuda.CUDAGraph) -> Generator[None]:
        """Capture like torch.cuda.graph(graph), on this stream, after waiting for the device."""
        lane = self._lane
        torch.cuda.synchronize(lane.index)  # also for an earlier graph, which uses the workspaces
        with torch.cuda.device(lane.index):
            lane.allocate_workspaces()
            with torch.cuda.graph(graph, stream=lane.stream):
                yield


class _Lane:
    """A stream with no other user, and the memory of its workspaces."""

    def __init__(self, index: int) -> None:
        self.index = index
        torch.cuda.synchronize(index)  # also makes a context
        handle = c_void_p()
        with torch.cuda.device(index):
            # PyTorch has only 32 streams of its own and hands them out repeatedly.
            if error := Driver().function("cuStreamCreate")(byref(handle), _NON_BLOCKING):
                raise BuildError(f"the NVIDIA driver cannot create a stream: CUresult {error}")
            self.stream = torch.cuda.ExternalStream(handle.value, torch.device("cuda", index))
            self._memory = torch.cuda.MemPool()

    def allocate_workspaces(self) -> None:
        with torch.cuda.stream(self.stream), torch.cuda.use_mem_pool(self._memory):
            x = torch.zeros(16, 16, device=torch.device("cuda", self.index))
            F.linear(x @ x, x, x[0])
