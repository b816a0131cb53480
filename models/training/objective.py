"""The training objective: the weighted sum of content loss, style loss and total variation."""

from __future__ import annotations

import torch
from torch import Tensor

from models.loss_terms import ObjectiveTerms
from models.training.config import TILE, TrainingConfig
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.losses import content_loss, gram, shrink, style_loss, total_variation
from utils.translation.texts import tr

CONTENT = "relu3_2"
STYLE = ("relu1_1", "relu2_1", "relu3_1", "relu3_4")


class Objective:
    """The perceptual loss of Johnson et al. 2016 (arXiv:1603.08155) for one style picture.

    The style loss is the mean over the scales, to which output and style picture are downscaled.
    Strokes larger than VGG's receptive field at full size fit into it at a smaller scale. The
    style picture is [1, 3, H, W] float, RGB 0-255.

    Raises:
        TrainingError: If the style picture is too small for a scale.
    """

    def __init__(self, config: TrainingConfig, features: Vgg19Features, style: Tensor) -> None:
        short = round(min(style.shape[2:]) * min(config.style_scales))
        if short < TILE:
            raise TrainingError(
                tr(
                    "the style picture's short side is {short} pixels at the smallest scale; it "
                    "needs {n}: choose a larger style size or scale",
                    short=short,
                    n=TILE,
                )
            )
        self._config = config
        self._features = features
        with torch.no_grad():
            self._targets = {scale: self._grams(style, scale) for scale in config.style_scales}

    def __call__(self, result: Tensor, photographs: Tensor) -> ObjectiveTerms[Tensor]:
        """Compute the objective of an output and its photographs, [B, 3, H, W] float, RGB 0-255."""
        config = self._config
        with torch.no_grad():
            target = self._features(photographs, CONTENT)[CONTENT]
        styles: list[Tensor] = []
        content = None
        for scale, targets in self._targets.items():
            found = self._features(shrink(result, scale))
            if scale == 1:
                content = content_loss(found[CONTENT], target)
            styles.append(style_loss({name: gram(found[name]) for name in STYLE}, targets))
        if content is None:  # 1 is not one of the scales
            content = content_loss(self._features(result, CONTENT)[CONTENT], target)
        style = torch.stack(styles).mean()
        variation = total_variation(result)
        total = (
            config.content_weight * content
            + config.style_weight * style
            + config.tv_weight * variation
        )
        return ObjectiveTerms(total, content, style, variation)

    def _grams(self, style: Tensor, scale: float) -> dict[str, Tensor]:
        found = self._features(shrink(style, scale))
        return {name: gram(found[name]) for name in STYLE}
