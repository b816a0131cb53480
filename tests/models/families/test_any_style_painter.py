"""The any-style network with one code uses its executor if gradients are disabled, else itself."""

from __future__ import annotations

import copy

import pytest
import torch

from kernels.network.graph_plan import PlannedNetwork
from models.families.any_style import StylePainter
from tests.models.inference.vit.test_executor import code, network, pixels

CPU = torch.device("cpu")


def painter(*, fused: bool = True, seed: int = 0) -> StylePainter:
    made = StylePainter(network(seed=seed), fused=fused).double()
    made.code.copy_(code())
    return made


@pytest.mark.parametrize("fused", [False, True])
def test_with_gradients_disabled_it_paints_the_same_picture(fused):
    made, x = painter(fused=fused), pixels(22, 40)
    wanted = made.network.stylize(x, code())
    with torch.inference_mode():
        torch.testing.assert_close(made(x), wanted, atol=1e-10, rtol=0)
    with torch.no_grad():
        torch.testing.assert_close(made(x), wanted, atol=1e-10, rtol=0)


def test_with_gradients_enabled_they_reach_the_picture():
    x = pixels(16, 24).requires_grad_()
    painter()(x).square().mean().backward()
    assert x.grad is not None
    assert float(x.grad.abs().max()) > 0


@torch.no_grad()
def test_other_weights_paint_another_picture():
    made, x = painter(), pixels(16, 24)
    before = made(x).clone()
    state = painter(seed=1).state_dict()
    made.load_state_dict(state)
    wanted = made.network.stylize(x, code())
    torch.testing.assert_close(made(x), wanted, atol=1e-10, rtol=0)
    assert float((wanted - before).abs().max()) > 1


@torch.no_grad()
def test_in_another_dtype_the_weights_are_prepared_anew():
    made, x = painter(), pixels(16, 24)
    wanted = made(x).clone()
    made.float()
    found = made(x.float())
    assert found.dtype is torch.float32
    torch.testing.assert_close(found, wanted.float(), atol=0.05, rtol=0)


@torch.no_grad()
def test_a_copy_has_a_code_of_its_own():
    made, x = painter(), pixels(16, 24)
    before = made(x).clone()
    other = copy.deepcopy(made)
    other.code.copy_(code(1))
    assert float((other(x) - before).abs().max()) > 1
    torch.testing.assert_close(made(x), before, atol=0, rtol=0)


@torch.no_grad()
def test_it_marks_groups_or_steps():
    made, marks = painter(), list[str]()
    made(pixels(16, 16), marks.append)
    made.by_layer = True
    made(pixels(16, 16), marks.append)
    assert marks[:4] == ["stem", "blocks", "decoder", "stem/conv1"]


@torch.no_grad()
def test_off_a_gpu_it_has_no_plan():
    made = painter()
    assert isinstance(made, PlannedNetwork)
    assert made.plan((1, 32, 32), CPU) is None


@torch.no_grad()
def test_pictures_that_are_none_are_refused():
    with pytest.raises(ValueError, match="16x16 pixels, got 24x8"):
        painter()(pixels(8, 24))
    with pytest.raises(ValueError, match="expected floating-point pictures"):
        painter()(torch.zeros(1, 3, 16, 16, dtype=torch.uint8))
