"""Every shipped style, full and lite, keeps float64's picture on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from app.sources.scene import render
from app.styles.catalog import Catalog
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.weights import Weights
from kernels.self_test.network import reference
from models.checkpoints import load_checkpoint
from models.families.keys import FEED_FORWARD
from models.network_config import network_config
from tests.helpers.daily import some_daily

STYLES = [each for each in Catalog.default().styles if each.family == FEED_FORWARD]
FILES = [path for style in STYLES for path in (style.weights, style.lite)]
SIZE = 96, 72
SCENE = render(1.0, *SIZE)
NOISE = np.random.default_rng(0).integers(0, 256, SCENE.shape).astype(np.uint8)
STEP = np.full_like(SCENE, 128)
STEP[:, SIZE[0] // 2 :] = 129


@pytest.mark.full
@pytest.mark.parametrize("enlarging", some_daily([False, True], 1))
@pytest.mark.parametrize("path", some_daily(FILES, 9), ids=lambda path: "-".join(path.parts[-2:]))
def test_a_style_keeps_the_picture_of_float64(device, path, enlarging):
    state = load_checkpoint(path)
    config = network_config(state)
    exact = {name: weight.double() for name, weight in state.items()}
    for half in (False, True) if device.adapter.half else (False,):
        network = Network.of(config, half=half, enlarging_winograd=enlarging)
        plan, weights = WebGpuPlan(device, network, SIZE), Weights(device, network, state)
        for picture in (SCENE, NOISE) if half else (SCENE, NOISE, STEP):
            pictures = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None]
            wanted = reference(exact, config.num_residual_blocks, pictures)[0].permute(1, 2, 0)
            if not half:
                found = plan(weights, picture[None].astype(np.float32))[0]
                assert np.abs(found - wanted.numpy()).max() < 0.01
            levels = np.abs(plan(weights, picture[None])[0] - wanted.clamp(0, 255).round().numpy())
            assert levels.max() <= (3 if half else 1)
            assert np.square(levels).mean() < 255**2 / 10**5.8, "58 dB"
