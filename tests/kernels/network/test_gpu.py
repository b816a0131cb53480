"""PyTorch is queried once per GPU; a stand-in for a GPU applies at any time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kernels.network import gpu
from kernels.network.gpu import Gpu, standing_for

H200, A100 = Gpu((9, 0), 232_448, 233_472, 132), Gpu((8, 0), 166_912, 167_936, 108)


@pytest.fixture
def asked(monkeypatch):
    """Return the queried GPU indices: cuda:0 is an H200, cuda:1 an A100."""
    indices: list[int] = []

    def properties(index: int) -> SimpleNamespace:
        indices.append(index)
        found = (H200, A100)[index]
        return SimpleNamespace(
            major=found.capability[0],
            minor=found.capability[1],
            shared_memory_per_block_optin=found.shared_bytes,
            shared_memory_per_multiprocessor=found.shared_bytes_of_multiprocessor,
            multi_processor_count=found.multiprocessors,
        )

    monkeypatch.setattr(torch.cuda, "get_device_properties", properties)
    gpu._gpu.cache_clear()
    yield indices
    gpu._gpu.cache_clear()


def test_each_gpu_is_asked_for_once(asked):
    for _ in range(3):
        assert Gpu.of(torch.device("cuda", 0)) == H200
        assert Gpu.of(torch.device("cuda", 1)) == A100
    assert asked == [0, 1]


def test_without_an_index_it_is_the_gpu_that_is_current_by_then(asked, monkeypatch):
    found = []
    for current in (0, 1):
        monkeypatch.setattr(torch.cuda, "current_device", lambda now=current: now)
        found.append(Gpu.of(torch.device("cuda")))
    assert found == [H200, A100]


def test_a_gpu_that_is_known_stands_for_another_within_the_block(asked):
    device = torch.device("cuda", 0)
    assert Gpu.of(device) == H200
    with standing_for(A100):
        assert Gpu.of(device) == A100
    assert Gpu.of(device) == H200
