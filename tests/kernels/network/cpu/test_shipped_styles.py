"""Every shipped style, full and lite, keeps float64's picture in the native network."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch

from app.engine.post.blending import peak_difference
from app.sources.scene import render
from app.styles.catalog import Catalog
from benchmarks.network.float64 import in_float64
from kernels.table.registry import STYLE, prepare
from models.checkpoints import load_checkpoint
from models.families.keys import FEED_FORWARD
from models.network_config import network_config
from models.transformer_net import TransformerNetBaseline, TransformerNetFused

STYLES = [each for each in Catalog.default().styles if each.family == FEED_FORWARD]
FILES = [
    (f"{style.key}-{path.stem}", path)
    for style in STYLES
    for path in (style.weights, style.lite)
    if path is not None
]
SIZE = 96, 72
SCENE = torch.from_numpy(render(1.0, *SIZE)).permute(2, 0, 1)[None].float()
NOISE = torch.randint(0, 256, SCENE.shape, generator=torch.Generator().manual_seed(0)).float()
STEP = torch.full_like(SCENE, 128.0)
STEP[..., SIZE[0] // 2 :] += 1.0


def test_there_are_nine_styles_in_two_versions():
    assert len(FILES) == 18


# Daily, the full and the lite network of different styles.
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=name, marks=[] if number % 9 in (0, 5) else pytest.mark.full)
        for number, (name, path) in enumerate(FILES)
    ],
)
def test_a_style_differs_from_float64_by_less_than_a_hundredth_of_a_level(path):
    prepare(family=STYLE)
    state = load_checkpoint(path)
    network = TransformerNetFused(**asdict(network_config(state)))
    network.load_state_dict(state)
    exact = TransformerNetBaseline(**asdict(network_config(state)))
    exact.load_state_dict(state)
    exact = in_float64(exact)
    layers: list[str] = []
    network.by_layer = True
    with torch.inference_mode():
        for picture in (SCENE, NOISE, STEP):
            found, wanted = network.eval()(picture, layers.append), exact.eval()(picture.double())
            difference, psnr = peak_difference(found.double(), wanted)
            assert difference < 0.01
            assert psnr > 100, "before rounding to 8 bits"
            levels = [each.double().clamp(0, 255).round() for each in (found, wanted)]
            assert peak_difference(*levels)[0] <= 1
    assert "residual blocks/res1.conv2" in layers, "the native network, not the layers of before"
