"""Run layer by layer in CUDA graphs, the network paints the same picture, from floats and bytes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.inference.frame_pipeline import is_broken
from models.inference.layerwise_plan import LayerwisePlan
from models.network_config import LITE
from models.transformer_net import TransformerNetBaseline, TransformerNetFused

SHAPE = 1, 22, 37  # not multiples of 4
GROUPS = ["encoder", "residual blocks", "decoder"]
LAYERS = [
    *(f"encoder/conv{number}" for number in (1, 2, 3)),
    *(f"residual blocks/res{number}" for number in (1, 2)),
    *(f"decoder/deconv{number}" for number in (1, 2, 3)),
]
CONFIG = {"num_residual_blocks": 2, "widths": LITE.widths, "end_kernel": LITE.end_kernel}


def network(seed: int = 0) -> TransformerNetBaseline:
    torch.manual_seed(seed)
    net = TransformerNetBaseline(**CONFIG).requires_grad_(False)
    state = net.state_dict()
    state["deconv3.conv2d.weight"] *= 160  # a picture with black and white
    state["deconv3.conv2d.bias"] += 120
    return net


def frames(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (*SHAPE, 3), dtype=torch.uint8, generator=generator)


def plan_of(net: TransformerNetBaseline, native: bool, device: str = "cpu") -> LayerwisePlan:
    layers = TransformerNetBaseline(**CONFIG).requires_grad_(False).to(device)
    place = torch.device(device)
    return LayerwisePlan(layers, net.state_dict(), SHAPE, torch.float32, place, native=native)


def _ignored(_name: str) -> None:
    """Ignore a mark."""


def rounded(y: Tensor) -> Tensor:
    return (y.clamp(0, 255) + 0.5).to(torch.uint8).permute(0, 2, 3, 1)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("marked", [[], GROUPS, LAYERS], ids=["at once", "by groups", "by layers"])
@pytest.mark.parametrize("native", [False, True])
@torch.inference_mode()
def test_a_frame_becomes_the_networks_picture(native, marked):
    net = network()
    plan = plan_of(net, native)
    plan.frames.copy_(frames())
    marks: list[str] = []
    plan.time_layers(marked is LAYERS)
    plan.replay(marks.append if marked else None)
    expected = net(frames().permute(0, 3, 1, 2).float())
    assert marks == marked
    apart = (plan.pictures.int() - rounded(expected).int()).abs()
    assert int(apart.max()) <= 1
    assert float((apart > 0).float().mean()) < 0.01
    low, high = float(expected.min()), float(expected.max())
    assert low < 0 < 255 < high
    assert not is_broken(plan.ranges)
    found = [int(each) for each in plan.ranges[0]]
    decoded = [value if value >= 0 else value ^ 0x7FFFFFFF for value in found[:2]]
    told = torch.tensor(decoded, dtype=torch.int32).view(torch.float32)
    torch.testing.assert_close(told, torch.tensor([low, high]), rtol=1e-4, atol=1e-2)
    assert found[2] == 0


@pytest.mark.usefixtures("eager")
@torch.inference_mode()
def test_floats_become_the_networks_values():
    net, x = network(), frames(1).permute(0, 3, 1, 2).float()
    torch.testing.assert_close(plan_of(net, False)(x), net(x), rtol=1e-4, atol=1e-3)


@pytest.mark.usefixtures("eager")
@torch.inference_mode()
def test_what_is_not_finite_is_told():
    net = network()
    net.state_dict()["deconv3.conv2d.bias"][1] = float("nan")
    plan = plan_of(net, False)
    plan.replay()
    assert int(plan.ranges[0, 2]) == SHAPE[1] * SHAPE[2]
    assert is_broken(plan.ranges)


@pytest.mark.usefixtures("eager")
@torch.inference_mode()
def test_what_layers_leave_is_freed_when_they_are_not_timed_any_more():
    plan = plan_of(network(), False)
    plan.time_layers(True)
    plan.replay(lambda _layer: None)
    assert len(plan._left) == len(LAYERS) - 1
    plan.time_layers(False)
    assert plan._left == {}
    plan.replay(lambda _group: None)
    assert len(plan._left) == len(GROUPS) - 1


@pytest.mark.usefixtures("eager")
@torch.inference_mode()
def test_other_weights_are_read_in_place():
    plan, other = plan_of(network(), False), network(1)
    held = plan._network.conv1.conv2d.weight.data_ptr()
    plan.set_weights(other.state_dict())
    assert plan._network.conv1.conv2d.weight.data_ptr() == held
    x = frames().permute(0, 3, 1, 2).float()
    torch.testing.assert_close(plan(x), other(x), rtol=1e-4, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("native", [False, True])
@torch.inference_mode()
def test_on_a_gpu_graphs_paint_what_the_layers_paint(native, native_kernels):
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        plan = plan_of(network(), native, "cuda")
        for seed, net in enumerate((network(), network(1))):
            plan.set_weights(net.state_dict())
            expected = net(frames(seed).permute(0, 3, 1, 2).float())
            for mark, by_layer in ((None, False), (_ignored, False), (_ignored, True)):
                plan.time_layers(by_layer)
                plan.frames.copy_(frames(seed))
                plan.replay(mark)
                apart = (plan.pictures.cpu().int() - rounded(expected).int()).abs()
                assert int(apart.max()) <= 1
            x = frames(seed).permute(0, 3, 1, 2).float()
            torch.testing.assert_close(plan(x.cuda()).cpu(), expected, rtol=1e-3, atol=0.05)


@pytest.mark.gpu
@torch.inference_mode()
def test_on_a_gpu_a_network_of_other_widths_has_a_plan_for_each_way_to_compute(native_kernels):
    net = TransformerNetFused(2, widths=(16, 32, 64)).cuda()
    device = torch.device("cuda")
    plan = net.plan(SHAPE, device)
    assert isinstance(plan, LayerwisePlan)
    assert net.plan(SHAPE, device) is plan
    with torch.autocast("cuda", torch.bfloat16):
        other = net.plan(SHAPE, device)
        assert other is not plan
        assert other is not None
        other.frames.copy_(frames())
        other.replay()
    plan.frames.copy_(frames())
    plan.replay()
    apart = (plan.pictures.float() - other.pictures.float()).abs().mean()
    assert 0 < float(apart) < 3
