"""On a Hopper GPU, residual layers joined in one launch paint the same as separate ones."""

from __future__ import annotations

import pytest
import torch

from kernels.jit import build
from kernels.network import dispatch
from kernels.network.dispatch import HOPPER, plan_for
from kernels.network.shapes import FULL
from kernels.network.sm90 import layers_apart
from kernels.self_test.network import psnr, random_weights
from kernels.table.registry import NETWORK

pytestmark = pytest.mark.gpu

# Whole tiles, tiles that the picture does not fill, two pictures, and tiny sides.
SHAPES = [(1, 512, 512), (1, 250, 331), (1, 500, 500), (2, 37, 54), (1, 9, 70)]


@pytest.fixture(scope="module")
def device():
    device = torch.device("cuda", torch.cuda.current_device())
    if torch.cuda.get_device_capability(device) != HOPPER:
        pytest.skip("the layers are joined on Hopper alone")
    if not build.load(NETWORK):
        pytest.skip(f"the network is not ready: {build.reason(NETWORK)}")
    return device


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_joined_layers_are_as_near_to_float64_as_layers_apart(shape, device):
    library = dispatch.shipped(device)
    joined = psnr(FULL, shape, torch.float16, device, library, "sm90")
    with layers_apart():
        apart = psnr(FULL, shape, torch.float16, device, library, "sm90")
    assert joined > 50
    assert joined > apart - 0.5


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_run_of_joined_layers_paints_the_same_bits(shape, device):
    """Runs follow one another at once, so each one finds the sums left by the previous one."""
    generator = torch.Generator().manual_seed(2)
    weights = random_weights(FULL, generator)
    x = (torch.rand(shape[0], 3, *shape[1:], generator=generator) * 255).to(device).half()
    with torch.inference_mode():
        plan = plan_for(weights, FULL, shape, torch.float16, device, dispatch.shipped(device))
        assert "residual blocks/res1-res5" in plan.layers
        made = [plan(x) for _ in range(20)]
    assert all(torch.equal(each, made[0]) for each in made)
    assert made[0].isfinite().all()


def test_two_plans_on_two_streams_do_not_wait_for_each_other_for_ever(device):
    weights = random_weights(FULL, torch.Generator().manual_seed(2))
    with torch.inference_mode():
        arguments = weights, FULL, (1, 512, 512), torch.float16, device, dispatch.shipped(device)
        plans = [plan_for(*arguments) for _ in range(2)]
        for plan in plans:
            plan.frames.fill_(100)
            plan.replay()
        torch.cuda.synchronize()
        streams = [torch.cuda.Stream() for _ in plans]
        for _ in range(100):
            for plan, stream in zip(plans, streams, strict=True):
                with torch.cuda.stream(stream):
                    plan.replay()
        torch.cuda.synchronize()
    assert torch.equal(plans[0].pictures, plans[1].pictures)


def test_a_value_that_fp16_cannot_store_is_told(device):
    """The picture's range shows that some value was not finite, as with separate layers."""
    weights = random_weights(FULL, torch.Generator().manual_seed(2))
    weights["res2.in1.weight"] = torch.full_like(weights["res2.in1.weight"], 1e6)
    with torch.inference_mode():
        library = dispatch.shipped(device)
        plan = plan_for(weights, FULL, (1, 64, 64), torch.float16, device, library)
        plan.frames.random_(0, 256)
        plan.replay()
        torch.cuda.synchronize()
    assert plan.ranges[0, 2] == 1
