"""A training request of the user, and the command line for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from models.training.presets import STROKES, STYLE_WEIGHT, Preset, Stroke

OWN_RESULTS = "StyleForge"  # the folder for results in the user's pictures; it has no photographs


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """One style to train.

    Attributes:
        vgg: file with VGG-19's weights; None for torchvision's, downloaded if missing.
        lite_init: weights of a lite network to start a fast version of the style from, which is
            trained after it; None for no fast version.
        init: checkpoint to start from; None for random weights.
        device: a key of utils.devices.
    """

    title: str
    picture: Path
    photographs: Path
    preset: Preset
    stroke: Stroke = STROKES[1]
    style_weight: float = STYLE_WEIGHT
    vgg: Path | None = None
    init: Path | None = None
    device: str = "auto"
    lite_init: Path | None = None

    def flags(self) -> tuple[str, ...]:
        """Return the flags of `styleforge train`, except those for files in the run's folder."""
        flags = [
            *("--dataset", str(self.photographs)),
            *("--skip-folder", OWN_RESULTS),
            *("--title", self.title),
            *("--device", self.device),
            *("--style-weight", f"{self.style_weight:g}"),
            *self.preset.flags(),
            *self.stroke.flags(),
        ]
        if self.vgg is not None:
            flags += ["--vgg", str(self.vgg)]
        if self.init is not None:
            flags += ["--init", str(self.init)]
        return tuple(flags)
