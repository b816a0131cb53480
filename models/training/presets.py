"""The table of presets: how long and how finely a style is trained, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.training.config import TrainingConfig

_RECIPE = TrainingConfig()


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
        )


@dataclass(frozen=True, slots=True)
class Stroke:
    """How large the strokes become: the style picture's long side in pixels against the crops,
    and the scales at which result and picture are compared."""

    key: str
    title: str
    words: str
    style_size: int = _RECIPE.style_size
    scales: tuple[float, ...] = field(default=_RECIPE.style_scales)

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
        "As the built-in styles are trained",
        iterations=_RECIPE.iterations,
    ),
    Preset(
        "fine",
        "Fine",
        "Larger crops and twice the steps, for strokes that hold at high resolution",
        iterations=2 * _RECIPE.iterations,
        image_size=384,
    ),
)

STROKES = (
    Stroke("fine", "Fine", "Small strokes; details of the photograph stay", style_size=320),
    Stroke("medium", "Medium", "As in the built-in styles"),
    Stroke("bold", "Bold", "Large strokes, from two scales", style_size=768, scales=(1.0, 0.5)),
)

STYLE_WEIGHT = _RECIPE.style_weight
STYLE_WEIGHTS = (0.5, 10.0)  # the least and the most that is offered


def cheaper(than: Preset) -> Preset | None:
    """The cheapest preset, if `than` is another."""
    least = min(PRESETS, key=lambda row: row.work)
    return None if least.work >= than.work else least
