"""The losses of a batch of pairs are zero where they should be, and independent for each pair."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from models.training.features import Vgg19Features
from models.training.vit.objective import VitObjective, normalized, statistics, style_loss
from tests.models.training.vit.conftest import TINY, pictures


def planes(seed: int, count: int = 2) -> torch.Tensor:
    return pictures(seed, count, 64).permute(0, 3, 1, 2).float()


def test_a_picture_in_its_own_style_costs_nothing(features: Vgg19Features) -> None:
    x = planes(0)
    terms = VitObjective(TINY, features)(x, x, x)
    assert float(terms.content) == pytest.approx(0, abs=1e-9)
    assert float(terms.style) == pytest.approx(0, abs=1e-9)
    assert float(terms.total) == pytest.approx(TINY.tv_weight * float(terms.tv))


def test_the_total_is_the_weighted_sum(features: Vgg19Features) -> None:
    config = replace(TINY, content_weight=2.0, style_weight=3.0, tv_weight=0.5)
    terms = VitObjective(config, features)(planes(0), planes(10), planes(20))
    wanted = 2 * terms.content + 3 * terms.style + 0.5 * terms.tv
    assert float(terms.total) == pytest.approx(float(wanted))
    assert min(float(terms.content), float(terms.style), float(terms.tv)) > 0


def test_the_content_loss_does_not_ask_for_the_contrast_of_features(
    features: Vgg19Features,
) -> None:
    given = features(planes(0))["relu3_2"]
    found, wanted = normalized(given * 3 + 1), normalized(given)
    assert float((found - wanted).square().mean()) < 1e-4 * float(wanted.square().mean())


def test_the_statistics_are_gram_matrices_means_and_deviations(features: Vgg19Features) -> None:
    given = features(planes(0))
    for name, (matrix, mean, deviation) in statistics(given).items():
        flat = given[name].flatten(2)
        torch.testing.assert_close(matrix, flat @ flat.transpose(1, 2) / flat.shape[2])
        torch.testing.assert_close(mean, flat.mean(2))
        torch.testing.assert_close(deviation, flat.std(2, correction=0), atol=0.01, rtol=1e-3)


def test_pairs_do_not_share_their_styles(features: Vgg19Features) -> None:
    result, styles = planes(0), planes(20)
    objective = VitObjective(TINY, features)
    right = float(objective(styles, result, styles).style)
    swapped = float(objective(styles.flip(0), result, styles).style)
    assert right < 1e-9 < swapped


@pytest.mark.full
def test_each_scale_counts(features: Vgg19Features) -> None:
    pairs = planes(0), planes(10), planes(20)
    losses = [
        float(VitObjective(replace(TINY, style_scales=scales), features)(*pairs).style)
        for scales in ((1.0,), (0.5,), (1.0, 0.5))
    ]
    assert losses[0] != losses[1]
    assert losses[2] == pytest.approx((losses[0] + losses[1]) / 2, rel=1e-5)


def test_a_black_style_does_not_outweigh_the_others(features: Vgg19Features) -> None:
    bright = statistics(features(planes(20)))
    mixed = planes(20)
    mixed[0] = 0
    found = statistics(features(planes(0)))
    alone = float(style_loss(found, bright, 0.0))
    assert float(style_loss(found, statistics(features(mixed)), 0.0)) < 30 * max(alone, 1)


def test_the_gradient_reaches_the_result(features: Vgg19Features) -> None:
    result = planes(0).requires_grad_()
    VitObjective(TINY, features)(result, planes(10), planes(20)).total.backward()
    assert result.grad is not None
    assert bool(result.grad.isfinite().all())
    assert float(result.grad.abs().max()) > 0
