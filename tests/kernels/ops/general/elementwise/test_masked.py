"""relu(x + y) that saves bits for backward: emulated kernels, thread by thread, and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import kernel_fusion as kf
from kernels.ops.general.elementwise import masked
from kernels.table import autograd
from tests.kernels.ops.emulated import Launcher, built_or_skipped


@pytest.fixture
def launch(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return Launcher(built_or_skipped(tmp_path_factory.mktemp("relu_mask"), "relu_mask.cu"))


def test_results_bits_and_gradients_are_those_of_the_reference(launch, monkeypatch):
    # the samples fit, except for their device
    monkeypatch.setattr(masked, "fits", lambda _x, _y: True)
    for x, y in masked.samples():
        x.view(-1)[1], y.view(-1)[0] = torch.nan, -x.view(-1)[0]
        result, mask = masked.launch(launch, x, y)
        expected, bits = masked.reference(x, y)
        assert torch.equal(result.nan_to_num(7), expected.nan_to_num(7))
        assert torch.equal(mask, bits)
        for grad in (y, y.flip(0)):
            found = masked.launch_backward(launch, grad, mask)
            assert torch.equal(found, masked.backward_reference(grad, mask))
    assert len(launch.launched) == 3 * 9


def test_gradients_and_second_ones_are_those_of_relu():
    x, y = (torch.randn(4, 10, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda *given: kf.ops.add_relu_masked(*given)[0], (x, y))
    assert torch.autograd.gradgradcheck(lambda *given: kf.ops.add_relu_masked(*given)[0], (x, y))


def test_with_gradients_an_addition_keeps_bits_and_nothing_else(monkeypatch):
    kept: list[torch.Tensor] = []

    def keep(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x

    x, y = (torch.randn(4, 10, requires_grad=True) for _ in range(2))
    monkeypatch.setattr(masked, "fits", lambda x, _y: x.numel() == 40)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        result = kf.ops.add_relu(x, y)
    assert [(each.dtype, each.numel()) for each in kept] == [(torch.uint8, 5)]
    assert torch.equal(result, torch.relu(x + y))
    grad = torch.randn(4, 10)
    of_x, of_y = torch.autograd.grad(result, (x, y), grad)
    assert torch.equal(of_x, torch.where(x + y > 0, grad, 0.0))
    assert torch.equal(of_x, of_y)
    kept.clear()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        kf.ops.add_relu(x[:2], y[:2])
    assert [each.dtype for each in kept] == [torch.float32]


def test_only_tensors_alike_that_a_kernel_takes_are_added_with_bits():
    x = torch.ones(4, 8)
    assert not masked.fits(x.double(), x.double())
    assert not masked.fits(x, x.half())
    assert not masked.fits(x, torch.ones(8, 4).T)
    with pytest.raises(ValueError, match=r"add_relu_masked: y is torch\.float32 \[8\]"):
        kf.ops.add_relu_masked(x, x[0])
    with pytest.raises(ValueError, match="multiple of 8"):
        kf.ops.add_relu_masked(x[:, :3], x[:, :3])
    with pytest.raises(ValueError, match="relu_mask_backward: mask is"):
        kf.ops.relu_mask_backward(x, torch.zeros(3, dtype=torch.uint8))


def test_what_stands_for_an_operation_runs_where_gradients_are_wanted_alone():
    ran: list[str] = []

    def recorded(x: torch.Tensor) -> torch.Tensor | None:
        ran.append("recorded")
        return None if x.dim() else x

    def plain(_keys: object, x: torch.Tensor) -> torch.Tensor:
        ran.append("plain")
        return x

    record = autograd.handed_over(lambda _run, _x: ran.append("own"), recorded)
    run = autograd.recording_of(record, plain, torch.relu)
    run(None, torch.ones(()))
    run(None, torch.ones((), requires_grad=True))
    run(None, torch.ones(1, requires_grad=True))
    assert ran == ["plain", "recorded", "recorded", "own"]
