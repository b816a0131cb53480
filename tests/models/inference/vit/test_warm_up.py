"""A warm-up calls everything that would delay a style's first frame."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from models.inference.vit import warm_up
from models.vit_config import PATCH, SMALL, VIT_VARIANTS
from models.vit_style_transfer import StyleForgeTransformer

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
CONFIG = VIT_VARIANTS["tiny"]


class Calls(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_attention_is_called_with_all_keys_and_with_fewer():
    strides = [SMALL.key_stride(*(side // PATCH for side in size)) for size in warm_up.SIZES]
    assert strides[0] == 1
    assert strides[1] > 1


@pytest.mark.parametrize("device", DEVICES)
def test_attention_products_and_convolutions_are_called(device, monkeypatch):
    dtype = torch.float16 if device == "cuda" else torch.float32
    if device == "cpu":
        monkeypatch.setattr(warm_up, "SIZES", ((64, 64),))
    state = StyleForgeTransformer(CONFIG).state_dict()
    with Calls() as calls:
        warm_up.paint_once(CONFIG, state, torch.device(device), dtype)
    for part in ("attention", "conv", "linear", "addmv"):
        assert any(part in name for name in calls.names), (part, calls.names)


@pytest.mark.gpu
def test_libraries_are_loaded_while_another_thread_computes():
    state = StyleForgeTransformer(CONFIG).state_dict()
    before = torch.ones(64, 64, device="cuda")
    warm_up.warm_up(CONFIG, state, torch.device("cuda"))
    assert float((before @ before).sum()) == 64**3
