"""The training objective of the any-style network, for a batch of content and style pairs."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from models.loss_terms import ObjectiveTerms
from models.training.features import Vgg19Features
from models.training.losses import gram, shrink, total_variation
from models.training.vit.config import VitTrainingConfig

CONTENT = ("relu3_2", "relu3_4")
STYLE = ("relu1_1", "relu2_1", "relu3_1", "relu3_4")
EPS = 1e-5
LEAST = 1e-6  # of a squared norm in a divisor
DARK = 0.1  # see `_ratio`

Statistics = tuple[Tensor, Tensor, Tensor]  # Gram matrix, means and deviations of one layer


class VitObjective:
    """Content, style and total variation of results, each pair with its own targets.

    The content loss compares features that are normalized per channel, so that it does not demand
    the photograph's own contrast. The style loss is relative, so that every style weighs the same.
    """

    def __init__(self, config: VitTrainingConfig, features: Vgg19Features) -> None:
        self._config, self._features = config, features

    def __call__(self, result: Tensor, content: Tensor, style: Tensor) -> ObjectiveTerms[Tensor]:
        """Compute the objective; all pictures are [B, 3, S, S] float, RGB 0-255."""
        config, count = self._config, len(result)
        with torch.no_grad():
            both = self._features(torch.cat((content, style)))
            wanted = {name: normalized(both[name][:count]) for name in CONTENT}
            targets = {1.0: statistics({name: both[name][count:] for name in STYLE})}
            for scale in config.style_scales:
                if scale not in targets:
                    targets[scale] = statistics(self._features(shrink(style, scale)))
        found = self._features(result)
        parts = [(normalized(found[name]) - wanted[name]).square().mean() for name in CONTENT]
        content_loss = torch.stack(parts).mean()
        losses: list[Tensor] = []
        for scale in config.style_scales:
            features = found if scale == 1 else self._features(shrink(result, scale))
            losses.append(style_loss(statistics(features), targets[scale], config.moment_weight))
        style_term = torch.stack(losses).mean()
        variation = total_variation(result)
        total = (
            config.content_weight * content_loss
            + config.style_weight * style_term
            + config.tv_weight * variation
        )
        return ObjectiveTerms(total, content_loss, style_term, variation)


def normalized(features: Tensor) -> Tensor:
    """Normalize every channel of [B, C, H, W] to mean 0 and deviation 1, in float32."""
    wide = features.float()
    variance, mean = torch.var_mean(wide, (2, 3), correction=0, keepdim=True)
    return (wide - mean) * torch.rsqrt(variance + EPS)


def statistics(features: Mapping[str, Tensor]) -> dict[str, Statistics]:
    """Compute Gram matrices [B, C, C], means and deviations [B, C] of STYLE's layers, float32.

    The diagonal of a Gram matrix is the mean square of each channel, so deviations need no pass
    over the features, which are the largest tensors of a step.
    """
    found: dict[str, Statistics] = {}
    for name in STYLE:
        matrix = gram(features[name])
        mean = features[name].mean((2, 3), dtype=torch.float32)
        variance = matrix.diagonal(dim1=1, dim2=2) - mean.square()
        found[name] = matrix, mean, (variance.clamp_min(0) + EPS).sqrt()
    return found


def style_loss(
    found: Mapping[str, Statistics], wanted: Mapping[str, Statistics], moment_weight: float
) -> Tensor:
    """Compute ||G - Gs||^2 / ||Gs||^2, summed over layers, averaged over pairs: a float32 scalar.

    `moment_weight` adds the same ratio for means and for deviations (Huang and Belongie 2017,
    arXiv:1703.06868).
    """
    losses: list[Tensor] = []
    for name, targets in wanted.items():
        ratios = [_ratio(ours, theirs) for ours, theirs in zip(found[name], targets, strict=True)]
        losses.append(ratios[0] + moment_weight * (ratios[1] + ratios[2]))
    return torch.stack(losses).sum()


def _ratio(found: Tensor, wanted: Tensor) -> Tensor:
    """Compute ||found - wanted||^2 / ||wanted||^2 of each pair, averaged over the pairs.

    DARK times the batch's mean is added to the divisor, or the ratio of a nearly black style
    picture would be hundreds of times larger than the others.
    """
    squares = (found - wanted).square().flatten(1).sum(1)
    norms = wanted.square().flatten(1).sum(1)
    return (squares / (norms + DARK * norms.mean()).clamp_min(LEAST)).mean()
