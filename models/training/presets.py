"""The table of training presets: duration, resolution and stroke size, with their labels."""

from __future__ import annotations

from dataclasses import dataclass

from models.training.config import TrainingConfig

_RECIPE = TrainingConfig()
STABILITY_WEIGHT, MOTION_WEIGHT = 80.0, 4.0  # slow down a step, so only in the longer presets


@dataclass(frozen=True, slots=True)
class Preset:
    """A choice of duration and resolution; see TrainingConfig for the fields not listed.

    `key` identifies it in flags and stored requests; `words` is one sentence that describes it.
    """

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
        """The pixels processed in the run, which is proportional to its duration."""
        return float(self.iterations * self.batch_size * self.image_size**2)

    def flags(self) -> tuple[str, ...]:
        return (
            *("--iterations", str(self.iterations)),
            *("--image-size", str(self.image_size)),
            *("--batch-size", str(self.batch_size)),
            *("--stability-weight", f"{self.stability_weight:g}"),
            *("--motion-weight", f"{self.motion_weight:g}"),
        )


@dataclass(frozen=True, slots=True)
class Stroke:
    """A choice of stroke size.

    Attributes:
        key: Identifies the choice in flags and stored requests.
        words: One sentence that describes it on screen.
        style_size: Long side of the style picture in pixels; larger ones paint larger strokes.
        scales: Scales at which output and style picture are compared.
    """

    key: str
    title: str
    words: str
    style_size: int = _RECIPE.style_size
    scales: tuple[float, ...] = (1.0, 0.5)

    def flags(self) -> tuple[str, ...]:
        scales = ",".join(f"{scale:g}" for scale in self.scales)
        return ("--style-size", str(self.style_size), "--style-scales", scales)


# From the shortest to the longest. A run starts from the weights of another style, so a few
# hundred steps are enough to see the new one.
PRESETS = (
    Preset(
        "sketch",
        "Sketch",
        "The shortest training that shows the style; for machines without a GPU",
        iterations=400,
        image_size=128,
        batch_size=4,
    ),
    Preset(
        "draft",
        "Draft",
        "Learns colors and strokes; about 2 minutes on a fast GPU",
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

STYLE_WEIGHT = 3.0  # the built-in styles have 1.2 to 3.5
STYLE_WEIGHTS = (0.5, 10.0)  # the range on offer


def cheaper(than: Preset) -> Preset | None:
    """Return the preset with the least work, or None if `than` has no more work than it."""
    least = min(PRESETS, key=lambda row: row.work)
    return None if least.work >= than.work else least
