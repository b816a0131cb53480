"""Streams that CUDA graphs are captured on, each with a workspace of cuBLAS that stays its own."""

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

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: it waits for nothing on the legacy default stream
_lock = threading.Lock()
_free: defaultdict[int, list[_Lane]] = defaultdict(list)  # by index of the device


class CaptureStream:
    """A stream to capture graphs on that run one after another; keep it as long as they are run.

    A captured product writes to cuBLAS's workspace whenever its graph runs. PyTorch keeps one for
    each stream, and lets go of it while the graph lives: of all streams where torch.compile makes
    CUDA graphs, in version 2.13 also of a stream where a graph that was captured on it ends
    (https://github.com/pytorch/pytorch/issues/193402). Its memory is then given to tensors, which
    the graph writes over. Here a workspace is in memory that nothing else is given.

    Args:
        device: A CUDA device, with its index.

    Raises:
        BuildError: The driver is missing or older than the kernels need, or makes no stream.
    """

    def __init__(self, device: torch.device) -> None:
        index = device.index
        with _lock:
            found = _free[index].pop() if _free[index] else None
        self._lane = _Lane(index) if found is None else found
        # PyTorch never forgets which workspace a stream has, so that one ends with the process.
        weakref.finalize(self, _free[index].append, self._lane).atexit = False

    @property
    def handle(self) -> int:
        """The CUstream."""
        return self._lane.stream.cuda_stream

    @contextmanager
    def capture(self, graph: torch.cuda.CUDAGraph) -> Generator[None]:
        """As torch.cuda.graph(graph), on this stream; waits for the device before."""
        lane = self._lane
        torch.cuda.synchronize(lane.index)  # also for an earlier graph, which has the workspaces
        with torch.cuda.device(lane.index):
            lane.allocate_workspaces()
            with torch.cuda.graph(graph, stream=lane.stream):
                yield


class _Lane:
    """A stream that nothing else has, and the memory of its workspaces."""

    def __init__(self, index: int) -> None:
        self.index = index
        torch.cuda.synchronize(index)  # and has a context
        handle = c_void_p()
        with torch.cuda.device(index):
            # PyTorch's own streams are 32, handed out again and again.
            if error := Driver().function("cuStreamCreate")(byref(handle), _NON_BLOCKING):
                raise BuildError(f"the NVIDIA driver makes no stream: CUresult {error}")
            self.stream = torch.cuda.ExternalStream(handle.value, torch.device("cuda", index))
            self._memory = torch.cuda.MemPool()

    def allocate_workspaces(self) -> None:
        """Have the workspaces of the calling thread's cuBLAS and cuBLASLt, if it has none yet."""
        with torch.cuda.stream(self.stream), torch.cuda.use_mem_pool(self._memory):
            x = torch.zeros(16, 16, device=torch.device("cuda", self.index))
            F.linear(x @ x, x, x[0])
