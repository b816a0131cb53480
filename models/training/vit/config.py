"""The hyperparameters of training the any-style network."""

from __future__ import annotations

import math
from dataclasses import dataclass

from models.training.config import PRECISIONS
from models.training.errors import TrainingError, require
from models.training.stability import REACH
from models.vit_config import SMALL, VitConfig
from utils.translation.texts import tr

STORED = 288  # side in pixels of the squares in which memory holds the pictures
WARM_UP = 300  # steps in which the learning rate rises
# fraction of the run after which the learning rate falls and stability has its full weight
HELD = 0.5
WEIGHTS = (
    "content_weight",
    "style_weight",
    "moment_weight",
    "tv_weight",
    "stability_weight",
    "motion_weight",
)
SHARES = ("photo_share", "jitter_share", "texture_share", "stability_share")


@dataclass(frozen=True, slots=True)
class VitTrainingConfig:
    """The hyperparameters of a run. Each weight is 0 or more.

    Args:
        moment_weight: For the difference of means and deviations, within the style loss.
        tv_weight: For the total variation.
        stability_weight: For the stability loss of a still camera (models.training.stability).
        motion_weight: For a moving camera; they alternate if both exceed 0. Both weights rise
            from 0 over the first half of the run, since a network that paints nothing is steady.
        stability_share: Fraction of the batch that is painted a second time, disturbed.
        style_scales: Scales, at most 1, at which results and style pictures are compared.
        style_zoom: Least and largest enlargement of the stored style pictures.
        content_zoom: Largest enlargement of the stored photographs.
        photo_share: Fraction of the style pictures that are photographs.
        jitter_share: Fraction of the style pictures whose colors are changed.
        texture_share: Fraction of the content with noise in flat areas, for strokes to follow.
        texture: Largest standard deviation of that noise, of 255.
        pooled_every: Interval of steps in which four tokens share a key, as in large pictures; 0
            for none.
        image_size: Side of the crops of content and style in pixels, a multiple of 8.
        batch_size: Pairs of content and style per step and process.
        lr: AdamW's highest learning rate.
        weight_decay: AdamW's, of matrices and kernels.
        ema: Decay of the running mean of the weights, which becomes the result.
        steps: None for no limit.
        seconds: Duration over all processes that resume the run; None for no limit. The learning
            rate then follows the clock.
        precision: "fp32" or "bf16" (autocast).

    Raises:
        TrainingError: If a value is out of range; the message names it.
    """

    network: VitConfig = SMALL
    content_weight: float = 1.0
    style_weight: float = 6.0
    moment_weight: float = 0.05
    tv_weight: float = 2e-6
    stability_weight: float = 80.0
    motion_weight: float = 8.0
    stability_share: float = 0.25
    style_scales: tuple[float, ...] = (1.0, 0.5)
    style_zoom: tuple[float, float] = (0.6, 1.5)
    content_zoom: float = 1.6
    photo_share: float = 0.15
    jitter_share: float = 0.5
    texture_share: float = 0.5
    texture: float = 20.0
    pooled_every: int = 8
    image_size: int = 256
    batch_size: int = 16
    lr: float = 3e-4
    weight_decay: float = 0.01
    ema: float = 0.999
    steps: int | None = None
    seconds: float | None = None
    precision: str = "fp32"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in WEIGHTS:
            value = getattr(self, name)
            require(math.isfinite(value) and value >= 0, name, value, tr("0 or more"))
        for name in SHARES:
            value = getattr(self, name)
            require(0 <= value <= 1, name, value, tr("from 0 to 1"))
        require(0 < self.lr <= 1, "lr", self.lr, tr("more than 0 and at most 1"))
        require(0 <= self.weight_decay < 1, "weight_decay", self.weight_decay, tr("from 0 to 1"))
        require(0 <= self.ema < 1, "ema", self.ema, tr("from 0 to less than 1"))
        require(0 <= self.texture <= 100, "texture", self.texture, tr("from 0 to 100"))
        low, high = self.style_zoom
        require(
            0.25 <= low <= high <= 4, "style_zoom", self.style_zoom, tr("two numbers, 0.25 to 4")
        )
        require(1 <= self.content_zoom <= 4, "content_zoom", self.content_zoom, tr("from 1 to 4"))
        require(self.pooled_every >= 0, "pooled_every", self.pooled_every, tr("0 or more"))
        require(self.batch_size >= 1, "batch_size", self.batch_size, tr("1 or more"))
        require(0 <= self.seed < 1 << 31, "seed", self.seed, tr("from 0 to 2^31 - 1"))
        side = self.image_size
        fits = 32 <= side <= STORED - 2 * REACH and side % 8 == 0
        largest = STORED - 2 * REACH
        require(fits, "image_size", side, tr("a multiple of 8 from 32 to {n}", n=largest))
        scales = self.style_scales
        valid = bool(scales) and all(scale <= 1 and scale * side >= 16 for scale in scales)
        require(valid, "style_scales", scales, tr("at most 1, and large enough to leave 16 pixels"))
        require(self.precision in PRECISIONS, "precision", self.precision, tr("fp32 or bf16"))
        require(self.steps is None or self.steps >= 1, "steps", self.steps, tr("1 or more"))
        timed = self.seconds is None or (math.isfinite(self.seconds) and self.seconds > 0)
        require(timed, "seconds", self.seconds, tr("more than 0"))
        if self.steps is None and self.seconds is None:
            raise TrainingError(tr("a run needs a number of steps or seconds"))

    @property
    def window(self) -> int:
        """Side of the content windows in pixels: a crop plus the reach of the moving camera."""
        return self.image_size + 2 * REACH

    @property
    def disturbed(self) -> int:
        """Number of content pictures per batch that are painted a second time, disturbed."""
        steadies = bool(self.stability_weight or self.motion_weight)
        return math.ceil(self.batch_size * self.stability_share) if steadies else 0

    def moves(self, step: int) -> bool:
        if self.stability_weight and self.motion_weight:
            return step % 2 == 1
        return bool(self.motion_weight)

    def steadiness(self, step: int, progress: float) -> float:
        """Compute the weight of the stability loss for a step, counted from 0, at `progress`."""
        weight = self.motion_weight if self.moves(step) else self.stability_weight
        return weight * min(1.0, progress / HELD)

    def progress(self, step: int, elapsed: float) -> float:
        """Compute the completed fraction of the run, 0 to 1, after `elapsed` seconds trained."""
        by_steps = 0.0 if self.steps is None else step / self.steps
        by_time = 0.0 if self.seconds is None else elapsed / self.seconds
        return min(1.0, max(by_steps, by_time))

    def learning_rate(self, step: int, progress: float) -> float:
        """Compute the learning rate of a step, counted from 0, at a fraction `progress` of the run.

        It rises over WARM_UP steps, and falls linearly to 0 in the second half of the run.
        """
        rising = min(1.0, (step + 1) / WARM_UP)
        falling = min(1.0, (1 - progress) / (1 - HELD))
        return self.lr * rising * falling

    def key_stride(self, step: int) -> int | None:
        """Return the stride of the keys in a step; None for the network's own choice."""
        every = self.pooled_every
        return 2 if every and step % every == every - 1 else None
