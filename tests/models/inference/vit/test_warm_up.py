"""What a style would wait for at the first calls of PyTorch's libraries is called before."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from models.inference.vit import warm_up
from models.vit_config import SMALL

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


class Calls(TorchDispatchMode):
    """Notes the operations that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_attention_is_called_with_all_keys_and_with_fewer():
    strides = [SMALL.key_stride(*size) for size in warm_up.SIZES]
    assert strides[0] == 1
    assert strides[1] > 1


@pytest.mark.parametrize("device", DEVICES)
def test_attention_products_and_convolutions_are_called(device):
    dtype = torch.float16 if device == "cuda" else torch.float32
    with Calls() as calls:
        warm_up.call_once(torch.device(device), dtype)
    for part in ("attention", "conv", "linear", "addmv"):
        assert any(part in name for name in calls.names), part


def test_on_a_cpu_nothing_is_called():
    with Calls() as calls:
        warm_up.warm_up(torch.device("cpu"))
    assert not calls.names
