"""The executor of the any-style network paints what the network defines."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.inference.vit.executor import VitExecutor
from models.inference.vit.weights import prepare
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer

# the limit on keys applies above 4x4 tokens
SHARED = VitConfig(32, 2, 48, 1, 2, 16, (8, 12, 16), max_keys=16)
NATIVE = VitConfig(32, 2, 48, 1, 2, 16, (16, 32, 48), max_keys=16)  # multiples of 16
CPU = torch.device("cpu")


def network(config: VitConfig = SHARED, dtype: torch.dtype = torch.float64, seed: int = 0):
    """Return a network without a weight of 0 or 1."""
    torch.manual_seed(seed)
    net = StyleForgeTransformer(config).requires_grad_(False)
    for parameter in net.parameters():
        parameter.add_(0.05 * torch.randn_like(parameter))
    return net.to(dtype)


def executor(net: StyleForgeTransformer, dtype: torch.dtype | None = None) -> VitExecutor:
    dtype = dtype or net.decoder.conv_out.conv2d.weight.dtype
    return VitExecutor(net.config, prepare(net.state_dict(), net.config, dtype, CPU))


def pixels(*size: int, seed: int = 0, count: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 3, *size, generator=generator, dtype=torch.float64) * 255


def code(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, 16, generator=generator, dtype=torch.float64)


@pytest.mark.full
@torch.inference_mode()
def test_in_float64_the_pictures_are_equal_at_every_size_from_16_to_40():
    net = network()
    painter = executor(net)
    painter.set_code(code())
    for height in range(16, 41):
        for width in {16, 29, 40, 56 - height}:
            x = pixels(height, width, seed=height)
            torch.testing.assert_close(painter(x), net.stylize(x, code()), atol=1e-10, rtol=0)


@torch.inference_mode()
def test_a_batch_is_painted_as_its_pictures_are():
    net = network()
    painter = executor(net)
    painter.set_code(code())
    x = pixels(24, 40, count=3)
    torch.testing.assert_close(painter(x), net.stylize(x, code()), atol=1e-10, rtol=0)


@pytest.mark.parametrize("size", [(24, 40), (40, 56)], ids=["own keys", "shared keys"])
@pytest.mark.parametrize("count", [1, 2])
@torch.inference_mode()
def test_joined_norms_paint_the_same_pictures(size, count):
    net = network()
    painter = executor(net)
    painter.joins_norms = True
    painter.set_code(code())
    x = pixels(*size, count=count)
    torch.testing.assert_close(painter(x), net.stylize(x, code()), atol=1e-10, rtol=0)


@torch.inference_mode()
def test_another_code_paints_another_style_in_the_same_memory():
    net = network()
    painter = executor(net)
    x, address = pixels(24, 32), painter.factors.data_ptr()
    for seed in (1, 2, 1):
        painter.set_code(code(seed))
        torch.testing.assert_close(painter(x), net.stylize(x, code(seed)), atol=1e-10, rtol=0)
    assert painter.factors.data_ptr() == address


@pytest.mark.parametrize(
    ("dtype", "error"), [(torch.float32, 1e-3), (torch.float16, 2.0), (torch.bfloat16, 12.0)]
)
@torch.inference_mode()
def test_in_other_precisions_it_is_as_exact_as_the_network(dtype, error):
    net = network()
    painter = executor(net, dtype)
    painter.set_code(code())
    x = pixels(32, 48)
    wanted = net.stylize(x, code())
    found = painter(x)
    assert found.dtype is dtype
    off = float((found.double() - wanted).square().mean().sqrt())
    plain = net.to(dtype).stylize(x.to(dtype), code().to(dtype))
    off_plain = float((plain.double() - wanted).square().mean().sqrt())
    assert off < max(1.5 * off_plain, error / 4)
    assert off < error


@pytest.mark.parametrize("size", [(16, 16), (33, 47), (64, 40)])
@torch.inference_mode()
def test_in_fp32_the_kernels_of_the_cpu_convolve_every_layer(size, native_kernels, monkeypatch):
    net = network(NATIVE)
    painter = executor(net, torch.float32)
    painter.set_code(code())
    monkeypatch.setattr(painter, "convolved", None)
    x = pixels(*size)
    found = painter(x)
    assert (found.double() - net.stylize(x, code())).abs().max() < 0.01


@torch.inference_mode()
def test_two_runs_are_bit_equal_whatever_ran_in_between():
    painter = executor(network(), torch.float32)
    painter.set_code(code())
    first = painter(pixels(32, 32)).clone()
    painter(pixels(17, 40, seed=3))
    assert torch.equal(painter(pixels(32, 32)), first)


@torch.inference_mode()
def test_groups_or_steps_are_marked_in_order():
    painter = executor(network(), torch.float32)
    groups: list[str] = []
    steps: list[str] = []
    painter(pixels(16, 16), groups.append)
    painter(pixels(16, 16), steps.append, by_layer=True)
    assert groups == ["stem", "blocks", "decoder"]
    assert steps == list(painter.steps)
    assert steps[:5] == [*(f"stem/conv{n}" for n in (1, 2, 3, 4)), "blocks/block1"]


@torch.inference_mode()
def test_under_autocast_the_executor_keeps_its_own_dtype():
    painter = executor(network(), torch.bfloat16)
    painter.set_code(code())
    alone = painter(pixels(16, 24)).clone()
    with torch.autocast("cpu", torch.bfloat16):
        painter.set_code(code())
        assert torch.equal(painter(pixels(16, 24)), alone)
