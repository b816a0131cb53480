"""Training evaluates the displayed result, and values out of range find their way back."""

import torch

from models.training.projected_clamp import projected_clamp


def test_what_is_judged_is_the_picture_as_it_is_shown():
    result = torch.tensor([-20.0, 0.0, 128.5, 255.0, 300.0])
    assert projected_clamp(result).tolist() == [0.0, 0.0, 128.5, 255.0, 255.0]


def test_inside_the_range_the_gradient_is_untouched():
    result = torch.tensor([0.0, 100.0, 255.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(
        projected_clamp(result), result, torch.tensor([2.0, -3.0, -4.0])
    )
    assert gradient.tolist() == [2.0, -3.0, -4.0]


def test_outside_only_a_gradient_that_leads_back_is_let_through():
    result = torch.tensor([-5.0, -5.0, 260.0, 260.0], requires_grad=True)
    # A step follows the negative gradient: 1 would lower the value, -1 would raise it.
    outer = torch.tensor([1.0, -1.0, 1.0, -1.0])
    (gradient,) = torch.autograd.grad(projected_clamp(result), result, outer)
    assert gradient.tolist() == [0.0, -1.0, 1.0, 0.0]


def test_a_value_that_left_the_range_comes_back_where_a_clamp_would_leave_it():
    result = torch.full((8,), 400.0, requires_grad=True)
    optimizer = torch.optim.SGD([result], lr=20)
    for _ in range(20):
        optimizer.zero_grad()
        (projected_clamp(result) - 200).square().sum().mul(0.5).backward()
        optimizer.step()
        if (result < 255).all():
            break
    assert (result < 255).all()
