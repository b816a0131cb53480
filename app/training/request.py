"""What the user asks to be trained, as a value that becomes a command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from models.training.presets import STROKES, STYLE_WEIGHT, Preset, Stroke


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """One style to train. `photographs` is a folder; `vgg` a file of VGG-19's weights, None for
    torchvision's, which is then downloaded unless it is here already; `init` a checkpoint to
    begin from, None to begin at random; `device` a key of utils.devices."""

    title: str
    picture: Path
    photographs: Path
    preset: Preset
    stroke: Stroke = STROKES[1]
    style_weight: float = STYLE_WEIGHT
    vgg: Path | None = None
    init: Path | None = None
    device: str = "auto"

    def flags(self) -> tuple[str, ...]:
        """The flags of `styleforge train` for everything but its files inside the run."""
        flags = [
            *("--dataset", str(self.photographs)),
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
