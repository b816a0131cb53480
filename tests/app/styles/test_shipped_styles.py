"""The bundled styles are complete, come in two sizes, share one ancestor, and are exact enough."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch import Tensor

from app.sources.scene import render
from app.styles.catalog import BUILTIN, Catalog
from app.styles.pack import Style
from models.checkpoints import load_checkpoint
from models.evaluation.image_metrics import border, projected_clamp, psnr, to_tensor
from models.network_config import FULL, LITE, network_config
from models.transformer_net import TransformerNetFused

CATALOG = Catalog(BUILTIN, BUILTIN / "none")
NAMED = ("candy", "mosaic", "udnie", "rain_princess", "starry_night", "great_wave")
MORE = ("composition_vii", "scream", "wreck")
BYTES = 36_000_000

pytestmark = pytest.mark.usefixtures("native_kernels", "one_thread")
every_style = pytest.mark.parametrize("style", CATALOG.styles, ids=lambda style: style.key)
one_style_daily = pytest.mark.parametrize(
    "style",
    [
        pytest.param(style, id=style.key, marks=[] if style.key == "candy" else pytest.mark.full)
        for style in CATALOG.styles
    ],
)


@pytest.fixture(scope="module")
def scene() -> Tensor:
    """Return the built-in scene, [1, 3, 144, 256]."""
    return to_tensor(render(2.0, 256, 144), torch.device("cpu"))


def styled(state: dict[str, Tensor], picture: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the displayed result for `picture`, in FP32, 0-255."""
    network = TransformerNetFused(**asdict(network_config(state))).to(dtype)
    network.load_state_dict(state)
    with torch.inference_mode():
        return projected_clamp(network(picture.to(dtype)).float())


def weights(style: Style) -> tuple[Path, Path]:
    assert style.lite is not None
    return style.weights, style.lite


def test_nine_styles_are_there_in_the_order_of_the_number_keys():
    assert tuple(style.key for style in CATALOG.styles) == NAMED + MORE


def test_all_that_is_shipped_stays_small():
    files = [path for path in BUILTIN.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < BYTES


@every_style
def test_a_style_has_a_full_and_a_lite_network(style):
    full, lite = (network_config(load_checkpoint(path)) for path in weights(style))
    assert (full, lite) == (FULL, LITE)


@pytest.mark.full
@one_style_daily
def test_bf16_shows_the_picture_of_fp32(style, scene):
    for path in weights(style):
        state = load_checkpoint(path)
        exact = styled(state, scene, torch.float32)
        assert psnr(styled(state, scene, torch.bfloat16), exact) >= 38


@every_style
def test_a_styled_picture_has_contrast_and_no_frame(style, scene):
    for path in weights(style):
        picture = styled(load_checkpoint(path), scene, torch.float32)
        assert picture.std() > 25
        rings = border(picture)
        assert rings.edge < 1.5 * rings.within


@pytest.mark.parametrize(
    "size", [pytest.param(0, id="full", marks=pytest.mark.full), pytest.param(1, id="lite")]
)
def test_any_two_styles_mix(size, scene):
    """Halfway between weights of one ancestor, the contrast is close to either style's."""
    states = {style.key: load_checkpoint(weights(style)[size]) for style in CATALOG.styles}
    contrast = {key: styled(state, scene, torch.float32).std() for key, state in states.items()}
    keys = list(states)
    for first, second in zip(keys, keys[1:] + keys[:1], strict=True):
        mixed = {
            name: torch.lerp(value, states[second][name], 0.5)
            for name, value in states[first].items()
        }
        seen = styled(mixed, scene, torch.float32).std()
        assert seen > 0.5 * min(contrast[first], contrast[second]), (first, second)


REPORTS = BUILTIN.parents[1] / "benchmarks" / "reports"
REPORT = json.loads((REPORTS / "quality.json").read_text("utf-8"))
MEASURED = {style["key"]: style for style in REPORT["quality"]["styles"]}


@every_style
def test_training_for_steadiness_halved_the_flicker_and_the_pack_says_so(style):
    stated = tomllib.loads((style.weights.parent / "style.toml").read_text("utf-8"))["steadiness"]
    measured = MEASURED[style.key]
    networks = {row["network"]: row for row in measured["networks"] if row["precision"] == "FP32"}
    for kind in ("still", "panned"):
        without, after = measured["without"][kind], networks["full"][kind]
        assert after <= 0.5 * without
        assert stated[kind] == pytest.approx(after, rel=0.01)
        assert stated[f"{kind}_without"] == pytest.approx(without, rel=0.01)
        assert stated[f"{kind}_lite"] == pytest.approx(networks["lite"][kind], rel=0.01)


def test_the_manual_lists_the_automatic_texture_and_strokes_of_every_style():
    page = (BUILTIN.parents[1] / "docs" / "reference" / "manual.md").read_text("utf-8")
    _, _, table = page.partition("| automatic | texture in pictures |")
    listed = {}
    for line in table.split("\n\n")[0].splitlines()[2:]:
        title, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        listed[title] = cells
    expected = {}
    words = {"none": "as they are"}
    for style in CATALOG.styles:
        still, moving = (
            words.get(str(each), each if isinstance(each, str) else f"{each:g} degrees")
            for each in (style.strokes_direction, style.stream_strokes_direction)
        )
        direction = still if still == moving else f"{still}, in streams {moving}"
        length = f"{style.strokes_length:g}" if still != "as they are" else ""
        amounts = [f"{amount:g}" for amount in (style.texture, style.stream_texture)]
        expected[style.title] = [*amounts, direction, length]
    assert listed == expected
