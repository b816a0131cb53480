"""The network run operation by operation equals the published network."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor

from models.inference import layerwise
from models.network_config import LITE
from models.transformer_net import TransformerNetBaseline, TransformerNetFused

CONFIGS = {"full": {"num_residual_blocks": 2}, "lite": {"widths": LITE.widths, "end_kernel": 5}}


def network(shape: str) -> TransformerNetBaseline:
    torch.manual_seed(0)
    return TransformerNetBaseline(**CONFIGS[shape])


def run(net: TransformerNetBaseline, x: Tensor, native: bool) -> Tensor:
    for group in (layerwise.encoder, layerwise.transformer, layerwise.decoder):
        x = layerwise.apply(group(net, native), x, lambda _layer: None)
    return x


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("shape", CONFIGS)
def test_it_is_the_published_network_in_float64(shape, native):
    net, x = network(shape).double(), torch.rand(2, 3, 20, 36, dtype=torch.float64) * 255
    with torch.inference_mode():
        torch.testing.assert_close(run(net, x, native), net(x), rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("native", [True, False])
def test_gradients_reach_every_weight(native):
    net, x = network("lite"), torch.rand(1, 3, 16, 24) * 255
    other = deepcopy(net)
    run(net, x, native).square().mean().backward()
    other(x).square().mean().backward()
    for (name, ours), theirs in zip(net.named_parameters(), other.parameters(), strict=True):
        if "conv2d.bias" in name and not name.startswith("deconv3"):
            continue  # the norm removes it: noise around zero
        assert ours.grad is not None, name
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=2e-2, atol=1e-2, msg=name)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("shape", CONFIGS)
@pytest.mark.parametrize("native", [True, False])
def test_on_a_gpu_it_is_near_float64(shape, dtype, native, native_kernels):
    net, x = network(shape).cuda(), torch.rand(1, 3, 96, 136, device="cuda") * 255
    with torch.inference_mode():
        exact = deepcopy(net).double()(x.double())
        theirs = (deepcopy(net).to(dtype)(x.to(dtype)).double() - exact).abs().max()
        ours = (run(net.to(dtype), x.to(dtype), native).double() - exact).abs().max()
    assert ours <= 2 * theirs + 1e-5 * exact.abs().max()


@pytest.mark.gpu
def test_a_network_of_other_widths_runs_so_on_a_gpu(monkeypatch, native_kernels):
    called: list[bool] = []
    unit = layerwise._unit

    def watched(layer: Any, norm: Any, native: bool, x: Tensor) -> Tensor:
        called.append(native)
        return unit(layer, norm, native, x)

    monkeypatch.setattr(layerwise, "_unit", watched)
    net = TransformerNetFused(**{**CONFIGS["lite"], "widths": (16, 32, 64)}).cuda()
    with torch.inference_mode():
        assert net(torch.rand(1, 3, 32, 48, device="cuda") * 255).isfinite().all()
    layers = 5  # layers with a norm, outside the residual blocks
    assert called == [True] * 2 * layers  # once to load the kernels, once for the capture
