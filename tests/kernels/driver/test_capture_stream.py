"""Capture streams: products in a graph never write to memory that is allocated again."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.driver.capture_stream import CaptureStream

pytestmark = pytest.mark.gpu
DEVICE = torch.device("cuda", 0)


def clear_workspaces() -> None:
    """Clear them as torch.compile does before and after it creates a CUDA graph."""
    torch._C._cuda_clearCublasWorkspaces()


class Product:
    """A product in a graph that accumulates partial sums in cuBLAS's workspace."""

    def __init__(self) -> None:
        self.x, self.weight = torch.randn(8, 8192, device=DEVICE), torch.randn(512, 8192).to(DEVICE)
        self.expected = F.linear(self.x, self.weight)
        self.stream, self.graph = CaptureStream(DEVICE), torch.cuda.CUDAGraph()
        with self.stream.capture(self.graph):
            self.found = F.linear(self.x, self.weight)

    def is_right(self) -> bool:
        self.found.zero_()
        self.graph.replay()
        return torch.equal(self.found, self.expected)


def given_memory() -> list[Tensor]:
    """Return tensors that occupy all released memory."""
    gc.collect()
    torch.cuda.empty_cache()
    return [torch.full((1 << 20,), torch.nan, device=DEVICE) for _ in range(128)]


@pytest.mark.parametrize("let_go", [clear_workspaces, lambda: None], ids=["cleared", "ended"])
def test_a_graph_writes_over_no_memory_that_was_let_go(let_go: Callable[[], None]):
    first, second = Product(), Product()
    assert first.stream.handle != second.stream.handle
    del first
    third = Product()  # reuses the first one's stream
    del second
    let_go()
    others = given_memory()
    for _ in range(3):
        assert third.is_right()
    assert all(bool(x.isnan().all()) for x in others)
    assert Product().is_right()
    assert third.is_right()


def test_no_other_stream_is_the_same_and_a_stream_is_used_again():
    streams = [CaptureStream(DEVICE) for _ in range(3)]
    handles = {stream.handle for stream in streams}
    assert len(handles) == 3
    assert handles.isdisjoint(torch.cuda.Stream(DEVICE).cuda_stream for _ in range(64))
    del streams
    again = [CaptureStream(DEVICE) for _ in range(3)]
    assert {stream.handle for stream in again} == handles
