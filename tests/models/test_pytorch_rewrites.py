"""The rewrites change the multiplications, not the picture."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch

from models.layers import ConvLayer
from models.network_config import FULL, LITE, NetworkConfig
from models.pytorch_rewrites import PhaseConv, with_rewrites
from models.transformer_net import TransformerNetBaseline


def network_of(shape: NetworkConfig) -> TransformerNetBaseline:
    torch.manual_seed(0)
    network = TransformerNetBaseline(**asdict(shape)).requires_grad_(False)
    for name, parameter in network.named_parameters():
        if "in" in name.split(".")[-2]:  # identity norms would hide a mistake
            parameter.uniform_(0.5, 1.5)
    return network


@pytest.fixture(scope="module")
def network() -> TransformerNetBaseline:
    return network_of(FULL)


def pictures(*size: int) -> torch.Tensor:
    samples, height, width = size
    return torch.rand(samples, 3, height, width, dtype=torch.float64) * 255


@pytest.mark.parametrize("size", [(1, 16, 16), (1, 17, 35), (2, 36, 44)], ids=str)
@pytest.mark.parametrize("shape", [FULL, LITE], ids=["full", "lite"])
def test_in_float64_the_picture_is_the_baselines(shape, size):
    network = network_of(shape).double()
    x = pictures(*size)
    expected, actual = network(x), with_rewrites(network)(x)
    assert actual.shape == expected.shape
    assert (actual - expected).abs().max() <= 1e-10


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_in_other_dtypes_it_is_as_near_as_the_baseline(network, dtype):
    x = pictures(1, 32, 40)
    exact = network_of(FULL).double()(x)
    theirs = network_of(FULL).to(dtype)(x.to(dtype)).double()
    ours = with_rewrites(network).to(dtype)(x.to(dtype))
    assert ours.dtype is dtype
    assert (ours.double() - exact).abs().max() <= 2 * (theirs - exact).abs().max()


def test_the_network_given_is_left_as_it_was(network):
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with_rewrites(network)
    after = network.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def test_what_enlarges_multiplies_before_and_no_dead_bias_is_left(network):
    rewrites = with_rewrites(network)
    assert isinstance(rewrites.deconv1, PhaseConv)
    assert isinstance(rewrites.deconv2, PhaseConv)
    convolutions = [m for m in rewrites.modules() if isinstance(m, ConvLayer)]
    assert [m for m in convolutions if m.conv2d.bias is not None] == [rewrites.deconv3]


def test_activations_stay_channels_last(network):
    rewrites = with_rewrites(network).float()
    x = pictures(1, 32, 40).float().contiguous(memory_format=torch.channels_last)
    assert rewrites.encode(x).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # from PyTorch itself
def test_it_compiles_into_one_graph(network):
    rewrites, x = with_rewrites(network), pictures(1, 17, 20).float()
    torch._dynamo.reset()
    compiled = torch.compile(rewrites, backend="aot_eager", fullgraph=True, dynamic=False)
    with torch.inference_mode():
        torch.testing.assert_close(compiled(x), rewrites(x))
    torch._dynamo.reset()
