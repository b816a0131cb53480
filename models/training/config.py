"""The hyperparameters of training: everything that determines the weights except the pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from models.network_config import FULL, NetworkConfig
from models.training.errors import TrainingError, require
from models.training.stability import REACH
from utils.translation.texts import tr

PRECISIONS = ("fp32", "bf16")
WEIGHTS = (
    "content_weight",
    "style_weight",
    "tv_weight",
    "stability_weight",
    "motion_weight",
    "teacher_weight",
    "weave_weight",
)
TILE = 16  # the smallest input of VGG-19, in pixels
SQUARE = 9 / 8  # side of the stored photographs divided by the side of the crops
HELD = 0.6  # fraction of the run during which the learning rate is constant


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """The hyperparameters of a run; the defaults come from measurements.

    The weights multiply losses in relative form (models.training.losses), so that one set fits
    every style. Each is 0 or more.

    Args:
        tv_weight: For the total variation.
        stability_weight: For the stability loss of a still camera (models.training.stability).
        motion_weight: For the stability loss of a moving camera.
        teacher_weight: For the distance from a trained network's output; unused without one.
        weave_weight: For the weave loss (models.training.losses).
        style_size: Long side of the style picture in pixels.
        style_scales: Scales, at most 1, at which output and style picture are compared.
        image_size: Side of the training crops in pixels, a multiple of 4.
        lr: Adam's initial learning rate.
        precision: "fp32" or "bf16" (autocast).
        seed: For the initial weights and all random numbers.
        num_residual_blocks: Like `widths` and `end_kernel`, see models.network_config.

    Raises:
        TrainingError: If a value is out of range; the message names it.
    """

    content_weight: float = 1.0
    style_weight: float = 2.0
    tv_weight: float = 1e-6
    stability_weight: float = 0.0
    motion_weight: float = 0.0
    teacher_weight: float = 0.0
    weave_weight: float = 0.0
    style_size: int = 512
    style_scales: tuple[float, ...] = (1.0,)
    image_size: int = 256
    batch_size: int = 8
    iterations: int = 10_000
    lr: float = 1e-3
    precision: str = "fp32"
    seed: int = 0
    num_residual_blocks: int = FULL.num_residual_blocks
    widths: tuple[int, int, int] = FULL.widths
    end_kernel: int = FULL.end_kernel

    def __post_init__(self) -> None:
        for name in WEIGHTS:
            value = getattr(self, name)
            require(math.isfinite(value) and value >= 0, name, value, tr("0 or more"))
        require(0 < self.lr <= 1, "lr", self.lr, tr("more than 0 and at most 1"))
        for name in ("batch_size", "iterations"):
            require(getattr(self, name) >= 1, name, getattr(self, name), tr("1 or more"))
        require(0 <= self.seed < 1 << 63, "seed", self.seed, tr("from 0 to 2^63 - 1"))
        side = self.image_size
        require(
            side >= 32 and side % 4 == 0, "image_size", side, tr("a multiple of 4, and 32 or more")
        )
        require(self.style_size >= 32, "style_size", self.style_size, tr("32 or more"))
        scales = self.style_scales
        shortest = min(self.image_size, self.style_size)
        valid = bool(scales) and all(s <= 1 and s * shortest >= TILE for s in scales)
        require(
            valid,
            "style_scales",
            scales,
            tr("at most 1, and large enough to leave {n} pixels", n=TILE),
        )
        require(self.precision in PRECISIONS, "precision", self.precision, tr("fp32 or bf16"))
        try:
            _ = self.shape
        except ValueError as exc:
            raise TrainingError(str(exc)) from exc

    @property
    def shape(self) -> NetworkConfig:
        return NetworkConfig(self.num_residual_blocks, self.widths, self.end_kernel)

    @property
    def steadies(self) -> bool:
        return bool(self.stability_weight or self.motion_weight)

    def moves(self, iteration: int) -> bool:
        """Return whether the step's camera moves; with both weights, steps alternate."""
        if self.stability_weight and self.motion_weight:
            return iteration % 2 == 1
        return bool(self.motion_weight)

    @property
    def window(self) -> int:
        """Side in pixels of the cut window: a crop, plus the moving camera's reach."""
        return self.image_size + (2 * REACH if self.steadies else 0)

    @property
    def square(self) -> int:
        """Side of the squares in which memory holds the photographs, in pixels."""
        return max(round(self.image_size * SQUARE), self.window)

    def learning_rate(self, iteration: int) -> float:
        """Compute the rate of a step, from 0: constant at first, then falling linearly to 0."""
        left = 1 - iteration / self.iterations
        return self.lr * min(1.0, left / (1 - HELD))

    def for_epochs(self, epochs: int, photographs: int) -> int:
        """Convert epochs to iterations.

        Raises:
            TrainingError: If `epochs` is less than 1.
        """
        require(epochs >= 1, "epochs", epochs, tr("1 or more"))
        return math.ceil(epochs * photographs / self.batch_size)
