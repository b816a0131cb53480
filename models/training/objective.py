"""What a training step makes smaller: content, style and total variation, weighed."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from models.training.config import TILE, TrainingConfig
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.losses import content_loss, gram, style_loss, total_variation

CONTENT = "relu3_2"
STYLE = ("relu1_1", "relu2_1", "relu3_1", "relu3_4")


class Objective:
    """The perceptual loss of Johnson et al. 2016 (arXiv:1603.08155) against one style picture.

    `style` is [1, 3, H, W] float RGB in 0-255. With several scales the style loss is the mean
    over them, at each of which result and style picture are shrunk alike: VGG then sees strokes
    that at full size would be larger than its field of view.
    """

    def __init__(self, config: TrainingConfig, features: Vgg19Features, style: Tensor) -> None:
        short = round(min(style.shape[2:]) * min(config.style_scales))
        if short < TILE:
            raise TrainingError(
                f"the style picture's short side is {short} pixels at the smallest scale; "
                f"it needs {TILE}: choose a larger style size or scale"
            )
        self._config = config
        self._features = features
        with torch.no_grad():
            self._targets = {scale: self._grams(style, scale) for scale in config.style_scales}

    def __call__(self, result: Tensor, photographs: Tensor) -> Tensor:
        """The terms [total, content, style, TV] of `result` for `photographs`, both
        [B, 3, H, W] float RGB in 0-255; the total is differentiable, TV not yet weighed."""
        config = self._config
        with torch.no_grad():
            wanted = self._features(photographs, CONTENT)[CONTENT]
        styles = []
        content = None
        for scale, targets in self._targets.items():
            seen = self._features(_shrink(result, scale))
            if scale == 1:
                content = content_loss(seen[CONTENT], wanted)
            styles.append(style_loss({name: gram(seen[name]) for name in STYLE}, targets))
        if content is None:  # no scale of 1 among them
            content = content_loss(self._features(result, CONTENT)[CONTENT], wanted)
        style = torch.stack(styles).mean()
        variation = total_variation(result)
        total = (
            config.content_weight * content
            + config.style_weight * style
            + config.tv_weight * variation
        )
        return torch.stack((total, content, style, variation))

    def _grams(self, style: Tensor, scale: float) -> dict[str, Tensor]:
        seen = self._features(_shrink(style, scale))
        return {name: gram(seen[name]) for name in STYLE}


def _shrink(images: Tensor, scale: float) -> Tensor:
    if scale == 1:
        return images
    return F.interpolate(
        images, scale_factor=scale, mode="bilinear", antialias=True, align_corners=False
    )
