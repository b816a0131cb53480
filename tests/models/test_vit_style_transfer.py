"""The any-style network: any size, one state dict, codes that mix."""

from __future__ import annotations

import pytest
import torch

from models.vit_config import BASE, SMALL, VIT_VARIANTS, VitConfig, variant_name, vit_config
from models.vit_style_transfer import StyleForgeTransformer

TINY = VitConfig(32, 2, 48, 2, 2, 16, (8, 12, 16), max_keys=4096)


@pytest.fixture
def network(one_thread) -> StyleForgeTransformer:
    torch.manual_seed(3)
    return StyleForgeTransformer(TINY).requires_grad_(False)


def pixels(height: int, width: int, seed: int = 0, count: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 3, height, width, generator=generator) * 255


@pytest.mark.parametrize("size", [(16, 16), (17, 51), (40, 120), (33, 100), (64, 24)])
@pytest.mark.parametrize("style", [(16, 16), (31, 90), (64, 64)])
def test_pictures_of_any_size_keep_their_size(network, size, style):
    painted = network(pixels(*size), pixels(*style, seed=1))
    assert painted.shape == (1, 3, *size)
    assert bool(painted.isfinite().all())


def test_a_call_is_encoding_and_painting(network):
    content, style = pixels(32, 48), pixels(40, 24, seed=1)
    code = network.encode_style(style)
    assert code.shape == (1, TINY.code_dim)
    torch.testing.assert_close(network(content, style), network.stylize(content, code))


def test_another_style_paints_another_picture(network):
    content = pixels(32, 48)
    dark, bright = pixels(32, 32, seed=1) / 8, 255 - pixels(32, 32, seed=1) / 8
    assert float((network(content, dark) - network(content, bright)).abs().mean()) > 1


def test_a_mixture_ends_at_both_of_its_styles(network):
    content = pixels(32, 32)
    first, second = (network.encode_style(pixels(32, 32, seed)) for seed in (1, 2))
    ends = [network.stylize(content, torch.lerp(first, second, share)) for share in (0.0, 1.0)]
    assert torch.equal(ends[0], network.stylize(content, first))
    assert torch.equal(ends[1], network.stylize(content, second))


def test_a_picture_is_painted_alike_alone_and_in_a_batch(network):
    content, styles = pixels(40, 32, count=3), pixels(32, 32, seed=1, count=3)
    together = network(content, styles)
    for n in range(3):
        alone = network(content[n : n + 1], styles[n : n + 1])
        torch.testing.assert_close(together[n : n + 1], alone, atol=2e-2, rtol=1e-4)


def test_one_code_serves_a_batch(network):
    content, code = pixels(32, 32, count=2), network.encode_style(pixels(32, 32, seed=1))
    torch.testing.assert_close(
        network.stylize(content, code),
        network.stylize(content, code.expand(2, -1)),
        atol=2e-2,
        rtol=1e-4,
    )


def test_plain_and_fused_layers_share_the_state_dict_and_the_picture(network):
    plain = StyleForgeTransformer(TINY, fused=False).requires_grad_(False)
    plain.load_state_dict(network.state_dict())
    content, style = pixels(33, 47), pixels(24, 40, seed=1)
    torch.testing.assert_close(plain(content, style), network(content, style), atol=2e-2, rtol=1e-4)


def test_shared_keys_stay_close_to_full_attention_where_the_picture_is_smooth(network):
    ramp = torch.linspace(0, 255, 128)
    content = torch.stack(
        [ramp.expand(96, 128), ramp.flip(0).expand(96, 128), ramp.expand(96, 128)]
    )
    style = pixels(64, 64, seed=1)
    full = network(content[None], style, 1)
    shared = network(content[None], style, 2)
    assert not torch.equal(full, shared)
    assert float((full - shared).square().mean().sqrt()) < 0.05 * float(full.std())


def test_large_pictures_share_keys_by_themselves():
    few = VitConfig(32, 2, 48, 1, 1, 16, (8, 12, 16), max_keys=64)
    torch.manual_seed(3)
    network = StyleForgeTransformer(few).requires_grad_(False)
    content, style = pixels(80, 100), pixels(32, 32, seed=1)
    code = network.encode_style(style)
    assert few.key_stride(10, 13) == 2
    assert torch.equal(network.stylize(content, code), network.stylize(content, code, 2))


@pytest.mark.parametrize(
    ("rows", "columns", "stride"),
    [(32, 32, 1), (33, 32, 2), (64, 64, 2), (90, 160, 4), (135, 240, 6), (2, 2, 1)],
)
def test_the_stride_of_keys_is_the_least_that_leaves_few_enough(rows, columns, stride):
    assert SMALL.key_stride(rows, columns) == stride


def test_no_size_has_more_keys_than_allowed():
    for rows in range(1, 300, 7):
        for columns in range(1, 300, 11):
            stride = SMALL.key_stride(rows, columns)
            assert -(-rows // stride) * -(-columns // stride) <= SMALL.max_keys


def test_the_small_variant_fits_into_25_megabytes_of_8_bits():
    with torch.device("meta"):
        counts = {
            name: sum(weight.numel() for weight in StyleForgeTransformer(name).parameters())
            for name in VIT_VARIANTS
        }
    assert 4 * counts["tiny"] > counts["small"] > 3 * counts["tiny"]
    assert 20e6 < counts["small"] < 24.5e6 < counts["base"]


def test_gradients_reach_every_weight():
    torch.manual_seed(3)
    network = StyleForgeTransformer(TINY)
    network(pixels(32, 40), pixels(32, 32, seed=1)).square().mean().backward()
    without = [name for name, weight in network.named_parameters() if weight.grad is None]
    assert without == []


def test_wrong_pictures_and_codes_are_refused_in_a_sentence(network):
    code = network.encode_style(pixels(32, 32))
    for content, message in (
        (pixels(32, 15), "at least 16x16 pixels, got 15x32"),
        (pixels(32, 32)[0], r"expected pictures \[N, 3, H, W\]"),
        (pixels(32, 32).byte(), "expected floating-point pictures"),
    ):
        with pytest.raises(ValueError, match=message):
            network.stylize(content, code)
    with pytest.raises(ValueError, match=r"\[N, 16\], got \[1, 8\]"):
        network.stylize(pixels(32, 32), code[:, :8])
    with pytest.raises(ValueError, match=r"2 codes .*3 pictures"):
        network.stylize(pixels(32, 32, count=3), code.expand(2, -1))
    with pytest.raises(ValueError, match="tiny, small, base, got 'huge'"):
        StyleForgeTransformer("huge")


def test_dimensions_are_read_back_from_plain_values():
    assert vit_config(BASE.as_dict()) == BASE
    assert (variant_name(BASE), variant_name(TINY)) == ("base", "custom")
    for values in ({}, None, {**BASE.as_dict(), "widths": "32"}, {**BASE.as_dict(), "heads": 1}):
        with pytest.raises(ValueError, match="of an any-style network"):
            vit_config(values)
    with pytest.raises(ValueError, match="among 7 heads"):
        vit_config({**BASE.as_dict(), "num_heads": 7})


def test_code_is_taken_from_three_places_of_the_style_encoder():
    assert SMALL.taps == (2, 4, 6)
    assert TINY.taps == (1, 2)
