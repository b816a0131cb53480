"""The any-style network in CUDA graphs paints the same pictures and switches styles at once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kernels.jit import build
from models.inference.frame_pipeline import is_broken
from models.inference.vit.cache import VitCache
from models.inference.vit.executor import VitExecutor
from models.inference.vit.native_plan import NativeVitPlan
from models.inference.vit.plan import CODE, VitPlan
from models.inference.vit.weights import prepare
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from tests.models.inference.vit.test_executor import CPU, SHARED, code, network, pixels

SHAPE = 1, 22, 37  # not multiples of 8


def frames(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (*SHAPE, 3), dtype=torch.uint8, generator=generator)


def plan_of(net: StyleForgeTransformer, dtype: torch.dtype = torch.float32) -> VitPlan:
    plan = VitPlan(VitExecutor(SHARED, prepare(net.state_dict(), SHARED, dtype, CPU)), SHAPE)
    plan.set_weights({CODE: code()})
    return plan


def rounded(net: StyleForgeTransformer, seed: int, style: int = 0) -> Tensor:
    y = net.stylize(frames(seed).permute(0, 3, 1, 2).double(), code(style))
    return (y.clamp(0, 255) + 0.5).to(torch.uint8).permute(0, 2, 3, 1)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("by_layer", [None, False, True], ids=["at once", "by groups", "by layers"])
@torch.inference_mode()
def test_a_frame_becomes_the_networks_picture(by_layer):
    net = network()
    plan = plan_of(net)
    marks: list[str] = []
    plan.time_layers(bool(by_layer))
    plan.frames.copy_(frames())
    plan.replay(None if by_layer is None else marks.append)
    apart = (plan.pictures.int() - rounded(net, 0).int()).abs()
    assert int(apart.max()) <= 1
    assert float((apart > 0).float().mean()) < 0.01
    assert not is_broken(plan.ranges.cpu())
    expected = {None: [], False: ["stem", "blocks", "decoder"], True: list(plan.layers)}
    assert marks == expected[by_layer]


@pytest.mark.usefixtures("eager")
@torch.inference_mode()
def test_floats_become_the_networks_values():
    net, x = network(), frames(1).permute(0, 3, 1, 2).double()
    found = plan_of(net, torch.float64)(x)
    torch.testing.assert_close(found, net.stylize(x, code()), atol=1e-9, rtol=0)


@pytest.mark.usefixtures("eager")
@torch.inference_mode()
def test_a_cached_plan_takes_another_code_and_keeps_its_graphs():
    net, given = network(), code(1).clone()
    cache, shape = VitCache(SHARED), SHAPE
    state = net.state_dict
    plan = cache.plan(state, given, torch.float64, CPU, shape)
    plan.frames.copy_(frames())
    plan.replay()
    graphs = dict(plan._graphs)
    assert graphs
    given = code(2).clone()
    again = cache.plan(state, given, torch.float64, CPU, shape)
    assert again is plan
    assert again._graphs == graphs
    wanted = net.stylize(frames().permute(0, 3, 1, 2).double(), code(2))
    found = again(frames().permute(0, 3, 1, 2).double())
    torch.testing.assert_close(found, wanted, atol=1e-9, rtol=0)


@torch.no_grad()
def test_a_code_is_set_when_it_has_changed_and_only_then(monkeypatch):
    net, cache, given = network(), VitCache(SHARED), code(1)
    count = 0
    set_code = VitExecutor.set_code

    def counted(self: VitExecutor, code: Tensor) -> None:
        nonlocal count
        count += 1
        set_code(self, code)

    monkeypatch.setattr(VitExecutor, "set_code", counted)
    painter = cache.executor(net.state_dict, given, torch.float64, CPU)
    for _ in range(2):
        assert cache.executor(net.state_dict, given, torch.float64, CPU) is painter
    assert count == 1
    given.copy_(code(2))
    assert cache.executor(net.state_dict, given, torch.float64, CPU) is painter
    assert count == 2


@torch.no_grad()
def test_another_code_in_the_same_memory_is_a_new_code():
    """An allocator reuses memory, and a new tensor may have the version of an old one."""
    net, cache, x = network(), VitCache(SHARED), pixels(24, 40)
    memory = code(1).numpy()
    for seed in (1, 2):
        memory[:] = code(seed).numpy()
        painter = cache.executor(net.state_dict, torch.from_numpy(memory), torch.float64, CPU)
        torch.testing.assert_close(painter(x), net.stylize(x, code(seed)), atol=1e-9, rtol=0)


@pytest.mark.usefixtures("eager")
@torch.no_grad()
def test_plans_of_the_last_two_sizes_are_kept_and_share_their_weights():
    cache, given, net = VitCache(SHARED), code(), network()

    def plan(width: int) -> VitPlan:
        found = cache.plan(net.state_dict, given, torch.float32, CPU, (1, 16, width))
        assert isinstance(found, VitPlan)
        return found

    first, second = plan(16), plan(24)
    assert plan(16) is first
    assert first._executor.weights is second._executor.weights
    plan(32)
    assert plan(24) is not second
    assert len(cache._codes) == 2


@pytest.mark.usefixtures("eager")
@torch.no_grad()
def test_a_library_that_is_loaded_later_is_captured(monkeypatch):
    cache, given, net = VitCache(SHARED), code(), network()
    arguments = net.state_dict, given, torch.float32, CPU, SHAPE
    monkeypatch.setitem(build._reasons, "token_norm_cuda", build.BUILDING)
    before = cache.plan(*arguments)
    assert cache.plan(*arguments) is before
    monkeypatch.setitem(build._reasons, "token_norm_cuda", "")
    after = cache.plan(*arguments)
    assert after is not before
    assert cache.plan(*arguments) is after


@torch.no_grad()
def test_forgotten_weights_are_read_again():
    cache, given = VitCache(SHARED), code()
    x = torch.rand(1, 3, 16, 16).double() * 255
    for seed in (0, 1):
        net = network(seed=seed)
        cache.forget_weights()
        painter = cache.executor(net.state_dict, given, torch.float64, CPU)
        torch.testing.assert_close(painter(x), net.stylize(x, given), atol=1e-10, rtol=0)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@torch.inference_mode()
def test_on_a_gpu_graphs_paint_what_the_network_paints_twice_the_same(dtype, native_kernels):
    net, device = network(), torch.device("cuda")
    plan = VitPlan(VitExecutor(SHARED, prepare(net.state_dict(), SHARED, dtype, device)), SHAPE)
    for style in (1, 2, 1):
        plan.set_weights({CODE: code(style)})
        plan.frames.copy_(frames(style))
        plan.replay()
        first = plan.pictures.clone()
        error = (first.cpu().float() - rounded(net, style, style).float()).square().mean()
        assert float(error) < (4.0 if dtype is torch.float16 else 150.0)
        plan.time_layers(True)
        plan.replay(lambda _layer: None)
        plan.time_layers(False)
        plan.replay()
        assert torch.equal(plan.pictures, first)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 64, 64), (2, 57, 90), (1, 512, 512)])
@torch.no_grad()
def test_on_a_gpu_the_native_networks_layers_are_its_ends(dtype, shape, native_kernels):
    config = VitConfig(32, 2, 48, 1, 2, 16)
    net, cache, device = network(config), VitCache(config), torch.device("cuda")
    generator = torch.Generator().manual_seed(0)
    given = torch.randint(0, 256, (*shape, 3), dtype=torch.uint8, generator=generator)
    for style in (1, 2):
        plan = cache.plan(net.state_dict, code(style).cuda(), dtype, device, shape)
        assert isinstance(plan, NativeVitPlan)
        plan.frames.copy_(given)
        plan.replay()
        first = plan.pictures.clone()
        wanted = net.stylize(given.permute(0, 3, 1, 2).double(), code(style))
        error = first.cpu().double() - wanted.permute(0, 2, 3, 1).clamp(0, 255)
        assert float(error.square().mean()) < (4.0 if dtype is torch.float16 else 150.0)
        plan.time_layers(True)
        plan.replay(lambda _layer: None)
        assert torch.equal(plan.pictures, first)
        plan.time_layers(False)
        plan.replay()
        assert torch.equal(plan.pictures, first)
        assert not is_broken(plan.ranges.cpu())
