"""Everything that decides the weights of a style, apart from the pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from models.network_config import FULL, NetworkConfig
from models.training.errors import TrainingError
from models.training.stability import REACH

PRECISIONS = ("fp32", "bf16")
WEIGHTS = (
    "content_weight",
    "style_weight",
    "tv_weight",
    "stability_weight",
    "motion_weight",
    "teacher_weight",
)
TILE = 16  # the smallest picture VGG-19 is asked to look at, in pixels
SQUARE = 9 / 8  # photographs are kept as squares this much larger than the crops
HELD = 0.6  # the part of a run through which the learning rate is held


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """The recipe; the defaults are the measured ones. TrainingError names a value out of range.

    The weights multiply losses in relative form (models.training.losses), so one set fits every
    style. `style_size` is the style picture's long side in pixels; `style_scales` are the scales,
    1 or less, at which result and style picture are compared. `image_size` is the side of the
    training crops, a multiple of 4; `lr` is Adam's, at the start. `precision` is "fp32" or "bf16"
    (autocast). `stability_weight` multiplies what models.training.stability measures before a
    camera that stands still, `motion_weight` the same before one that moves; `teacher_weight`
    the distance from the pictures of a trained network of the same style, where one is given.
    The last three fields are those of models.network_config.NetworkConfig.
    """

    content_weight: float = 1.0
    style_weight: float = 2.0
    tv_weight: float = 1e-6
    stability_weight: float = 0.0
    motion_weight: float = 0.0
    teacher_weight: float = 0.0
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
            _require(math.isfinite(value) and value >= 0, name, value, "0 or more")
        _require(0 < self.lr <= 1, "lr", self.lr, "more than 0 and at most 1")
        for name in ("batch_size", "iterations"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "1 or more")
        _require(0 <= self.seed < 1 << 63, "seed", self.seed, "0 or more, in 63 bits")
        side = self.image_size
        _require(side >= 32 and side % 4 == 0, "image_size", side, "a multiple of 4 from 32 on")
        _require(self.style_size >= 32, "style_size", self.style_size, "32 or more")
        scales = self.style_scales
        shortest = min(self.image_size, self.style_size)
        sound = bool(scales) and all(s <= 1 and s * shortest >= TILE for s in scales)
        _require(sound, "style_scales", scales, f"at most 1, and leave at least {TILE} pixels")
        _require(self.precision in PRECISIONS, "precision", self.precision, "fp32 or bf16")
        try:
            _ = self.shape
        except ValueError as exc:
            raise TrainingError(str(exc)) from exc

    @property
    def shape(self) -> NetworkConfig:
        """The shape of the network to train."""
        return NetworkConfig(self.num_residual_blocks, self.widths, self.end_kernel)

    @property
    def steadies(self) -> bool:
        """Whether steadiness counts."""
        return bool(self.stability_weight or self.motion_weight)

    def moves(self, iteration: int) -> bool:
        """Whether the camera moves in this step: in every other one, where both count."""
        if self.stability_weight and self.motion_weight:
            return iteration % 2 == 1
        return bool(self.motion_weight)

    @property
    def window(self) -> int:
        """The side of what is cut from a photograph, in pixels: a crop, and where stability
        counts, what the camera may turn to."""
        return self.image_size + (2 * REACH if self.steadies else 0)

    @property
    def square(self) -> int:
        """The side of the squares the photographs are kept as, in pixels."""
        return max(round(self.image_size * SQUARE), self.window)

    def learning_rate(self, iteration: int) -> float:
        """Held at first, then falling in a straight line to nothing; `iteration` counts from 0."""
        left = 1 - iteration / self.iterations
        return self.lr * min(1.0, left / (1 - HELD))

    def for_epochs(self, epochs: int, photographs: int) -> int:
        """How many iterations show each of `photographs` pictures `epochs` times."""
        _require(epochs >= 1, "epochs", epochs, "1 or more")
        return math.ceil(epochs * photographs / self.batch_size)


def _require(sound: bool, name: str, value: object, wanted: str) -> None:
    if not sound:
        raise TrainingError(f"{name} should be {wanted}, not {value}")
