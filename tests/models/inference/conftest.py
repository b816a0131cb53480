"""CUDA graphs on the CPU."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch


@pytest.fixture
def eager(monkeypatch):
    """CUDA graphs on the CPU: what is submitted runs at once, also when a graph is captured."""

    class Graph:
        def replay(self) -> None:
            """What it holds ran when it was captured."""

    @contextlib.contextmanager
    def capture(graph: Graph, **_: Any):
        yield

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    monkeypatch.setattr(torch.cuda, "device", lambda _device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
