"""Loading of photographs, and of styles with their paintings, for `styleforge quality`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from app.errors import StyleForgeError
from app.styles.catalog import ORDER
from app.styles.pack import Style, check_weights, load_pack
from models.checkpoints import load_checkpoint
from models.evaluation.image_metrics import SMALLEST
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.training.config import TrainingConfig
from models.training.data import find_photographs
from models.training.run import fit
from models.vit_checkpoints import load_vit
from models.vit_config import variant_name
from models.vit_style_transfer import StyleForgeTransformer
from utils.files import toml
from utils.files.lists import read_list_file
from utils.images.reading import read_pixels

RECIPE = ("content_weight", "style_weight", "tv_weight", "style_size", "style_scales")
SCENE_SECOND = 1.0  # time of the measured picture, in seconds
PICTURES = (".png", ".jpg", ".jpeg", ".webp")  # extensions of the paintings


class QualityError(StyleForgeError):
    """Raised if the quality cannot be measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Photograph:
    """A test picture: `pixels` is [H, W, 3] uint8 RGB, resized from `original` (width, height)."""

    name: str
    pixels: NDArray[np.uint8]
    original: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class StyleUnderTest:
    """A style to measure.

    Attributes:
        painting: The style picture, [H, W, 3] uint8 RGB; None without the objective.
        recipe: The training config; None without the objective.
        without_stability: Weights of the full network trained without the stability term, if given.
    """

    pack: Style
    painting: NDArray[np.uint8] | None
    recipe: TrainingConfig | None
    networks: dict[str, dict[str, Tensor]]
    without_stability: dict[str, Tensor] | None


def load_any_style(paths: Sequence[Path]) -> dict[str, StyleForgeTransformer]:
    """Load any-style networks, by the names of their variants.

    Raises:
        CheckpointError: If a file is not an any-style network.
        QualityError: If two networks have the same variant.
    """
    networks: dict[str, StyleForgeTransformer] = {}
    for path in paths:
        found = load_vit(path)
        name = variant_name(found.config)
        if name in networks:
            raise QualityError(f"two any-style networks have the variant '{name}'")
        networks[name] = found.network()
    return networks


def load_photographs(places: Sequence[Path], only: Path | None, size: int) -> list[Photograph]:
    """Load the test pictures.

    Args:
        only: A list of file names; if given, only these are loaded, in its order.
        size: Long side to scale to, in pixels.

    Raises:
        QualityError: If a picture is missing or too narrow.
    """
    paths: list[Path] = []
    for place in places:
        paths += find_photographs(place) if place.is_dir() else [place]
    if only is not None:
        known = {path.name: path for path in paths}
        try:
            wanted = read_list_file(only)
        except ValueError as exc:
            raise QualityError(str(exc)) from exc
        absent = [name for name in wanted if name not in known]
        if absent:
            raise QualityError(
                f"a photograph of '{only.name}' is missing from --photos: {absent[0]}"
            )
        paths = [known[name] for name in wanted]
    if not paths:
        raise QualityError(f"the list '{only}' contains no photograph")
    found: list[Photograph] = []
    for path in paths:
        pixels = read_pixels(path)
        fitted = fit(pixels, size)
        if min(fitted.shape[:2]) < SMALLEST:
            raise QualityError(
                f"'{path.name}' is too narrow: at --size {size} its short side has "
                f"{min(fitted.shape[:2])} pixels, and {SMALLEST} are needed"
            )
        found.append(Photograph(path.name, fitted, (pixels.shape[1], pixels.shape[0])))
    return found


def scene_photograph(size: int) -> Photograph:
    """Return a picture of the built-in scene with the long side `size`, instead of photographs."""
    from app.sources.scene import render  # imports OpenCV, which photographs do not need

    pixels = render(SCENE_SECOND)
    return Photograph("built-in scene", fit(pixels, size), (pixels.shape[1], pixels.shape[0]))


def load_style(
    folder: Path, key: str, networks: Sequence[str], paintings: Path | None, without: Path | None
) -> StyleUnderTest:
    """Load a pack with everything needed to measure it; without `paintings`, no objective."""
    pack = load_pack(folder / key)
    if pack.family != FEED_FORWARD:
        raise QualityError(
            f"quality measures networks of a single style, and {pack.title} is "
            f"{FAMILIES[pack.family].one_of}"
        )
    check_weights(pack)
    weights = {"full": pack.weights, "lite": pack.lite}
    states = {
        name: load_checkpoint(path) for name in networks if (path := weights[name]) is not None
    }
    before = None if without is None else load_checkpoint(_weights_without_stability(without, key))
    if paintings is None:
        return StyleUnderTest(pack, None, None, states, before)
    painting = read_pixels(_painting(paintings, key))
    return StyleUnderTest(pack, painting, _recipe(folder / key), states, before)


def style_keys(folder: Path, wanted: Sequence[str]) -> list[str]:
    """Return the `wanted` packs, or all in gallery order.

    Raises:
        QualityError: If the folder or a wanted pack is missing, or the folder contains no pack.
    """
    if not folder.is_dir():
        raise QualityError(f"the folder of styles '{folder}' does not exist")
    found = sorted((path.parent.name for path in folder.glob("*/style.toml")), key=rank)
    if not found:
        raise QualityError(f"the folder '{folder}' contains no style")
    absent = [key for key in wanted if key not in found]
    if absent:
        raise QualityError(
            f"there is no style '{absent[0]}' in '{folder}'; there are: {', '.join(found)}"
        )
    return list(wanted) or found


def rank(key: str) -> tuple[int, str]:
    """Return the sort key of a style: its position in the gallery."""
    return ORDER.index(key) if key in ORDER else len(ORDER), key


def _painting(folder: Path, key: str) -> Path:
    for ending in PICTURES:
        if (path := folder / f"{key}{ending}").is_file():
            return path
    raise QualityError(f"'{folder}' contains no painting for the style '{key}', such as {key}.jpg")


def _weights_without_stability(folder: Path, key: str) -> Path:
    if (folder / key / "style.toml").is_file():
        _check_without_stability(folder / key)
        return load_pack(folder / key).weights
    if (path := folder / f"{key}.safetensors").is_file():
        return path
    raise QualityError(
        f"'{folder}' contains no '{key}' trained without the stability term, as a pack or as "
        f"{key}.safetensors"
    )


def _check_without_stability(pack: Path) -> None:
    for name in ("stability_weight", "motion_weight"):
        if weight := _training(pack).get(name, 0):
            raise QualityError(
                f"'{pack}' was trained with the stability term, at a {name.replace('_', ' ')} of "
                f"{weight:g}; --without needs styles trained without it"
            )


def _recipe(pack: Path) -> TrainingConfig:
    """Return the part of the recipe that decides the objective; crops and steps do not matter."""
    training = _training(pack)
    absent = [name for name in RECIPE if name not in training]
    if absent:
        raise QualityError(
            f"'{pack.name}/style.toml' does not say what the style was trained for: "
            f"[training] has no {absent[0]}"
        )
    known: dict[str, Any] = {name: training[name] for name in RECIPE}
    try:
        known["style_scales"] = tuple(known["style_scales"])
        return TrainingConfig(**known)
    except TypeError as exc:
        raise QualityError(f"'{pack.name}/style.toml' has no valid [training]: {exc}") from exc


def _training(pack: Path) -> dict[str, Any]:
    table: Any = toml.load(pack / "style.toml").get("training", {})
    return cast("dict[str, Any]", table) if isinstance(table, dict) else {}
