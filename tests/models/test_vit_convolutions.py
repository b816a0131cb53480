"""The convolutional ends of the any-style network."""

from __future__ import annotations

from statistics import fmean

import pytest
import torch
import torch.nn.functional as F

from models.vit_config import VitConfig
from models.vit_convolutions import Decoder, Stem, enlarge

TINY = VitConfig(32, 2, 48, 1, 1, 16, (8, 12, 16))


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (7, 4)])
def test_enlarging_is_bilinear_interpolation(size):
    x = torch.randn(2, 3, *size)
    wanted = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    torch.testing.assert_close(enlarge(x), wanted)


def test_what_is_painted_does_not_depend_on_the_grid_of_the_tokens():
    """Pixels change smoothly where tokens do, at any position in a token.

    With repeated pixels instead of a bilinear enlargement, the ratio is 2.2.
    """
    ratios: list[float] = []
    for seed in range(6):
        torch.manual_seed(seed)
        decoder, stem = Decoder(TINY), Stem(TINY, normed=True)
        ramp = torch.linspace(-1, 1, 16).expand(1, 32, 16, 16)
        with torch.no_grad():
            flat = stem(torch.full((1, 3, 128, 128), 99.0))
            painted = decoder(ramp, flat, torch.zeros(1, 16))
        across = (painted[..., 1:] - painted[..., :-1]).abs()[..., 31:95]
        phases = across.reshape(*across.shape[:3], 8, 8).mean((0, 1, 2, 3))
        ratios.append(float(phases.max() / phases.min()))
    assert fmean(ratios) < 1.5


@pytest.mark.parametrize("normed", [False, True])
def test_a_token_stands_for_8_by_8_pixels(normed):
    tokens, half, quarter = Stem(TINY, normed=normed)(torch.rand(2, 3, 40, 24) * 255)
    assert tokens.shape == (2, 32, 5, 3)
    assert half.shape == (2, 12, 20, 12)
    assert quarter.shape == (2, 16, 10, 6)


def test_the_stem_of_the_content_does_not_see_contrast_and_brightness():
    torch.manual_seed(0)
    stem = Stem(TINY, normed=True)
    x = torch.rand(1, 3, 32, 32) * 100 + 50
    with torch.no_grad():
        plain, changed = stem(x).tokens, stem((x - 100) * 1.5 + 110).tokens
    torch.testing.assert_close(plain, changed, atol=1e-3, rtol=1e-3)


def test_the_stem_of_the_style_sees_contrast():
    torch.manual_seed(0)
    stem = Stem(TINY, normed=False)
    x = torch.rand(1, 3, 32, 32) * 100 + 50
    with torch.no_grad():
        plain, changed = stem(x).tokens, stem((x - 100) * 1.5 + 110).tokens
    assert float((plain - changed).square().mean()) > 0.05 * float(plain.var())
