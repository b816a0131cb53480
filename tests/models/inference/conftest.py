"""CUDA graphs, streams and the kernels around the network on the CPU."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch

from tests.helpers.emulated_streams import emulate
from tests.kernels.frames.emulated import EmulatedFrameKernels, compiled


@pytest.fixture
def eager(monkeypatch):
    """Emulate CUDA graphs on the CPU: submitted work runs at once, also during a capture."""

    class Graph:
        def replay(self) -> None:
            """Do nothing: the work ran during the capture."""

    @contextlib.contextmanager
    def capture(graph: Graph, **_: Any):
        yield

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    monkeypatch.setattr(torch.cuda, "device", lambda _device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)


@pytest.fixture(scope="session")
def host(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("frames"))


@pytest.fixture
def kernels(host, eager, monkeypatch):
    emulate(monkeypatch)
    return EmulatedFrameKernels(host)
