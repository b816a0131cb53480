"""Fused modules against the modules that they replace: results, gradients, state dict keys."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from kernel_fusion import modules as fused

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def convolution(bias: bool = True) -> nn.Conv2d:
    return nn.Conv2d(4, 6, 3, (2, 1), 1, bias=bias)


def depthwise() -> nn.Conv2d:
    return nn.Conv2d(4, 8, 3, padding=1, groups=4)


# By name: the module, the PyTorch layers that it replaces, and the shape of its input.
ROWS: dict[str, tuple[Callable[[], Any], Callable[[], nn.Sequential], tuple[int, ...]]] = {
    "FusedLinearReLU": (
        lambda: fused.FusedLinearReLU(12, 20), lambda: nn.Sequential(nn.Linear(12, 20), nn.ReLU()),
        (3, 5, 12),
    ),
    "FusedLinearGELU": (
        lambda: fused.FusedLinearGELU(12, 20, bias=False),
        lambda: nn.Sequential(nn.Linear(12, 20, bias=False), nn.GELU()), (5, 12),
    ),
    "FusedLayerNormReLU": (
        lambda: fused.FusedLayerNormReLU(12), lambda: nn.Sequential(nn.LayerNorm(12), nn.ReLU()),
        (5, 12),
    ),
    "FusedLayerNormGELU": (
        lambda: fused.FusedLayerNormGELU([3, 4]),
        lambda: nn.Sequential(nn.LayerNorm([3, 4]), nn.GELU()), (5, 3, 4),
    ),
    "FusedConv2dBNReLU": (
        lambda: fused.FusedConv2dBNReLU(convolution(False), nn.BatchNorm2d(6)),
        lambda: nn.Sequential(convolution(False), nn.BatchNorm2d(6), nn.ReLU()), (3, 4, 7, 8),
    ),
    "FusedConv2dGELUDropout": (
        lambda: fused.FusedConv2dGELUDropout(convolution(), 0.0),
        lambda: nn.Sequential(convolution(), nn.GELU()), (3, 4, 7, 8),
    ),
    "FusedDepthwisePointwiseConv2d": (
        lambda: fused.FusedDepthwisePointwiseConv2d(depthwise(), nn.Conv2d(8, 5, 1), "relu"),
        lambda: nn.Sequential(depthwise(), nn.Conv2d(8, 5, 1), nn.ReLU()), (3, 4, 7, 8),
    ),
    "FusedConv2dGroupNorm": (
        lambda: fused.FusedConv2dGroupNorm(convolution(), nn.GroupNorm(3, 6)),
        lambda: nn.Sequential(convolution(), nn.GroupNorm(3, 6), nn.ReLU()), (3, 4, 7, 8),
    ),
}  # fmt: skip


def test_every_module_is_in_the_table():
    public = {name for name in vars(fused) if name.startswith("Fused")}
    assert public == set(ROWS)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ROWS)
def test_it_is_what_it_replaces(name, training, device):
    torch.manual_seed(0)
    make, separate, shape = ROWS[name]
    ours, theirs = make().to(device), separate().to(device)
    own_layer = len(theirs) == 2 and isinstance(ours, nn.Linear | nn.LayerNorm)
    layers = theirs[0] if own_layer else theirs
    assert list(ours.state_dict()) == list(layers.state_dict())
    ours.load_state_dict(layers.state_dict())
    ours.train(training)
    theirs.train(training)
    x = torch.randn(shape, device=device)
    found, grads = [], []
    for module in (ours, theirs):
        given = x.clone().requires_grad_()
        found.append(module(given))
        found[-1].square().sum().backward()
        grads.append([given.grad, *(p.grad for p in module.parameters())])
    torch.testing.assert_close(*found)
    for mine, other in zip(*grads, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)
    for mine, other in zip(ours.buffers(), theirs.buffers(), strict=True):
        torch.testing.assert_close(mine, other)
    with torch.no_grad():
        torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-5, atol=1e-5)


def test_a_module_shares_the_layers_it_is_given_and_is_copied_with_them():
    conv, bn = convolution(), nn.BatchNorm2d(6)
    module = fused.FusedConv2dBNReLU(conv, bn)
    assert module[0] is conv
    other = copy.deepcopy(module)
    assert other[0] is not conv
    torch.testing.assert_close(other.eval()(torch.ones(1, 4, 5, 5)),
                               module.eval()(torch.ones(1, 4, 5, 5)))  # fmt: skip


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="bn has 5 channels; expected 6, as conv"):
        fused.FusedConv2dBNReLU(convolution(), nn.BatchNorm2d(5))
    with pytest.raises(ValueError, match="bn has no running statistics"):
        fused.FusedConv2dBNReLU(convolution(), nn.BatchNorm2d(6, track_running_stats=False))
    with pytest.raises(ValueError, match="padding is 'same' in mode 'zeros'; expected numbers"):
        fused.FusedConv2dGELUDropout(nn.Conv2d(4, 4, 3, padding="same"))
    with pytest.raises(ValueError, match="expected a depthwise convolution"):
        fused.FusedDepthwisePointwiseConv2d(nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 1))
