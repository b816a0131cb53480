"""The table of presets: how long and how finely a style is trained, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass

from models.training.config import TrainingConfig

_RECIPE = TrainingConfig()
STABILITY_WEIGHT, MOTION_WEIGHT = 80.0, 4.0  # cost time, so only where there is some


@dataclass(frozen=True, slots=True)
class Preset:
    """One line of the table. `image_size` is the side of the training crops in pixels; `words`
    is one sentence for people, which names no time: that depends on the machine."""

    key: str
    title: str
    words: str
    iterations: int
    image_size: int = _RECIPE.image_size
    batch_size: int = _RECIPE.batch_size
    stability_weight: float = _RECIPE.stability_weight
    motion_weight: float = _RECIPE.motion_weight

    @property
    def work(self) -> float:
        """Pixels looked at in the whole run: what its time is in proportion to."""
        return float(self.iterations * self.batch_size * self.image_size**2)

    def flags(self) -> tuple[str, ...]:
        """The preset as flags of `styleforge train`."""
        return (
            *("--iterations", str(self.iterations)),
            *("--image-size", str(self.image_size)),
            *("--batch-size", str(self.batch_size)),
            *("--stability-weight", f"{self.stability_weight:g}"),
            *("--motion-weight", f"{self.motion_weight:g}"),
        )


@dataclass(frozen=True, slots=True)
class Stroke:
    """How large the strokes become: the style picture's long side in pixels against the crops,
    and the scales at which result and picture are compared."""

    key: str
    title: str
    words: str
    style_size: int = _RECIPE.style_size
    scales: tuple[float, ...] = (1.0, 0.5)

    def flags(self) -> tuple[str, ...]:
        """The choice as flags of `styleforge train`."""
        scales = ",".join(f"{scale:g}" for scale in self.scales)
        return ("--style-size", str(self.style_size), "--style-scales", scales)


# From the cheapest to the finest. A network begins from the weights of another style, which is
# why a few hundred steps already show the new one.
PRESETS = (
    Preset(
        "sketch",
        "Sketch",
        "The least that shows the style; for machines without a GPU",
        iterations=400,
        image_size=128,
        batch_size=4,
    ),
    Preset(
        "draft",
        "Draft",
        "Colors and strokes are there; about 2 minutes on a fast GPU",
        iterations=5_000,
    ),
    Preset(
        "standard",
        "Standard",
        "Twice the steps of a draft, and steadier from frame to frame",
        iterations=_RECIPE.iterations,
        stability_weight=STABILITY_WEIGHT,
        motion_weight=MOTION_WEIGHT,
    ),
    Preset(
        "fine",
        "Fine",
        "Larger crops and twice the steps again, for strokes that hold at high resolution",
        iterations=2 * _RECIPE.iterations,
        image_size=384,
        stability_weight=STABILITY_WEIGHT,
        motion_weight=MOTION_WEIGHT,
    ),
)

STROKES = (
    Stroke("fine", "Fine", "Small strokes; details of the photograph stay", 320, scales=(1.0,)),
    Stroke("medium", "Medium", "As in the built-in styles"),
    Stroke("bold", "Bold", "Large strokes, from a larger picture", style_size=768),
)

STYLE_WEIGHT = 3.0  # those of the built-in styles are 1.2 to 3.5
STYLE_WEIGHTS = (0.5, 10.0)  # the least and the most that is offered


def cheaper(than: Preset) -> Preset | None:
    """The cheapest preset, if `than` is another."""
    least = min(PRESETS, key=lambda row: row.work)
    return None if least.work >= than.work else least
