"""Each loss matches known values, and is zero at its target."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.training.config import TrainingConfig
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.losses import content_loss, gram, style_loss, total_variation
from models.training.objective import Objective
from models.training.stability import REACH, disturb, inside, stability_loss
from tests.conftest import picture
from tests.models.training.conftest import style


def test_a_gram_matrix_holds_the_mean_products_of_channels() -> None:
    features = torch.tensor([[[[1.0, 2.0]], [[3.0, -1.0]]]])  # two channels, two pixels
    assert gram(features).tolist() == [[[2.5, 0.5], [0.5, 5.0]]]


@pytest.mark.gpu
def test_a_gram_matrix_of_bfloat16_is_summed_in_float32_and_leads_back() -> None:
    device = torch.device("cuda:0")
    generator = torch.Generator(device).manual_seed(0)
    half = torch.randn(2, 64, 96, 80, generator=generator, device=device).relu_().bfloat16()
    half = half.contiguous(memory_format=torch.channels_last).requires_grad_()
    exact = half.detach().double().cpu().requires_grad_()
    towards = torch.randn(2, 64, 64, generator=generator, device=device)
    found, wanted = gram(half), gram(exact)
    assert (found.dtype, wanted.dtype) == (torch.float32, torch.float32)
    assert (found.cpu() - wanted).norm() < 1e-4 * wanted.norm()  # it would be 2e-3 in bfloat16
    (found * towards).sum().backward()
    (wanted * towards.cpu()).sum().backward()
    assert half.grad is not None
    assert exact.grad is not None
    assert (half.grad.cpu() - exact.grad).norm() < 1e-2 * exact.grad.norm()


def test_losses_are_zero_at_the_target_and_one_at_nothing() -> None:
    target = torch.rand(2, 8, 4, 4)
    grams = {"relu1_1": gram(target)}
    one = {"relu1_1": gram(target[:1])}
    assert content_loss(target, target) == 0
    assert content_loss(torch.zeros_like(target), target) == 1
    assert style_loss({"relu1_1": gram(target[:1])}, one) == 0
    assert style_loss({"relu1_1": torch.zeros_like(grams["relu1_1"])}, one) == 1


def test_total_variation_sums_the_mean_squares_across_and_down() -> None:
    image = torch.tensor([[[[0.0, 2.0], [0.0, 4.0]]]])
    assert total_variation(image) == (4 + 16) / 2 + (0 + 4) / 2


def test_the_style_picture_itself_has_no_style_loss_at_any_scale(features: Vgg19Features) -> None:
    config = TrainingConfig(style_size=64, image_size=32, style_scales=(1.0, 0.5))
    image = torch.tensor(style()).permute(2, 0, 1)[None].float()
    with torch.no_grad():
        objective = Objective(config, features, image)
        terms = objective(image, image)
        other = objective(image.flip(1), image)
    assert terms.content == 0
    assert terms.style < 1e-9 < other.style


def test_a_style_picture_too_flat_for_its_smallest_scale_is_refused(
    features: Vgg19Features,
) -> None:
    config = TrainingConfig(style_size=64, image_size=32, style_scales=(1.0, 0.5))
    with pytest.raises(TrainingError, match=r"10 pixels .* 16"):
        Objective(config, features, torch.zeros(1, 3, 20, 64))


def test_a_disturbed_frame_is_the_same_scene_a_moment_later():
    windows = torch.from_numpy(np.stack([picture(80, 64, seed) for seed in range(3)]))
    windows = windows.permute(0, 3, 1, 2).float()
    later = disturb(windows, 7, 3, moved=True)
    assert later.frames.shape == inside(windows).shape == (3, 3, 64 - 2 * REACH, 80 - 2 * REACH)
    top, left = later.down + REACH, later.right + REACH
    same = windows[..., top : top + 56, left : left + 72]
    assert 0.1 < (later.frames - same).abs().mean() < 8
    assert 0 <= later.frames.min() <= later.frames.max() <= 255
    assert torch.equal(disturb(windows, 7, 3, moved=True).frames, later.frames)
    steps = (disturb(windows, 7, step, moved=True) for step in range(60))
    places = {(later.down, later.right) for later in steps}
    assert len(places) > 30
    assert {down for down, _ in places} == set(range(-REACH, REACH + 1))


def test_a_camera_that_stands_still_sees_the_same_place_again():
    windows = torch.from_numpy(picture(80, 64))[None].permute(0, 3, 1, 2).float()
    later = disturb(windows, 7, 3, moved=False)
    assert (later.down, later.right) == (0, 0)
    assert 0.1 < (later.frames - inside(windows)).abs().mean() < 8


def test_stability_is_nought_for_what_moves_with_the_picture_and_large_for_what_does_not():
    windows = torch.from_numpy(picture(80, 64))[None].permute(0, 3, 1, 2).float()
    moved = windows[..., 7 : 7 + 56, 1 : 1 + 72]  # down 3, left 3
    assert stability_loss(inside(windows), moved, 3, -3) == 0
    assert stability_loss(inside(windows), moved, 0, 0) > 0.01
    assert stability_loss(inside(windows), moved.flip(-1), 3, -3) > 0.1


def test_dots_that_keep_to_the_border_are_not_steady():
    plain = torch.full((1, 3, 56, 72), 128.0)
    dots = torch.zeros_like(plain)
    dots[..., ::4, :2] = dots[..., ::4, -2:] = dots[..., :2, ::4] = dots[..., -2:, ::4] = 60.0
    moved = plain + dots
    for down, right in ((3, -3), (-2, 0), (0, 1)):
        assert stability_loss(plain + dots, moved, down, right) > 0.5
