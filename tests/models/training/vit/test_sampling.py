"""Batches depend only on seed, step and process; crops, colors and texture stay in range."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from models.training.vit.colors import add_texture, flatness, jitter_colors
from models.training.vit.sampling import Sampler, crop
from tests.models.training.vit.conftest import CPU, TINY, pictures


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_batch_is_a_function_of_the_step() -> None:
    first, second = (Sampler(pictures(0), pictures(50), TINY, CPU) for _ in range(2))
    second(3)
    for a, b in zip(first(7), second(7), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(first(7).clean, first(8).clean)


def test_every_process_draws_its_own_batch() -> None:
    first, second = (Sampler(pictures(0), pictures(50), TINY, CPU, rank) for rank in (0, 1))
    assert not torch.equal(first(0).style, second(0).style)


def test_shapes_and_ranges_of_a_batch() -> None:
    batch = Sampler(pictures(0), pictures(50), TINY, CPU)(0)
    assert batch.clean.shape == batch.content.shape == (2, 3, TINY.window, TINY.window)
    assert batch.style.shape == (2, 3, 32, 32)
    for part in batch:
        assert part.dtype == torch.float32
        assert 0 <= float(part.min()) < float(part.max()) <= 255


def test_the_share_of_photographs_among_the_styles() -> None:
    dark, bright = torch.zeros(2, 72, 72, 3).byte(), torch.full((2, 72, 72, 3), 255).byte()
    for share, level in ((0.0, 255), (1.0, 0)):
        config = replace(TINY, photo_share=share, jitter_share=0.0)
        style = Sampler(dark, bright, config, CPU)(0).style
        assert float((style - level).abs().max()) < 0.01


def test_a_crop_of_the_whole_picture_is_the_picture() -> None:
    given = pictures(0, count=8)
    found = crop(given, 72, (1.0, 1.0), generator())
    wanted = given.permute(0, 3, 1, 2).float()
    mirrored = wanted.flip(3)
    for one, straight, flipped in zip(found, wanted, mirrored, strict=True):
        nearest = min(float((one - each).abs().max()) for each in (straight, flipped))
        assert nearest < 0.01


def test_half_of_the_crops_are_mirrored() -> None:
    ramp = torch.linspace(0, 255, 72).byte()[None, None, :, None].expand(64, 72, 72, 3)
    found = crop(ramp, 32, (1.0, 1.5), generator())
    rising = int((found[:, 0, 0, -1] > found[:, 0, 0, 0]).sum())
    assert 16 < rising < 48


def test_a_crop_wider_than_the_picture_continues_it() -> None:
    flat = torch.full((2, 40, 40, 3), 90).byte()
    found = crop(flat, 64, (0.5, 0.5), generator())
    torch.testing.assert_close(found, torch.full((2, 3, 64, 64), 90.0), atol=1e-3, rtol=0)


def test_colors_change_where_they_are_chosen_to() -> None:
    given = pictures(0).permute(0, 3, 1, 2).float()
    torch.testing.assert_close(jitter_colors(given, 0.0, generator()), given, atol=1e-4, rtol=0)
    changed = jitter_colors(given, 1.0, generator())
    assert all(float((a - b).abs().mean()) > 1 for a, b in zip(changed, given, strict=True))
    assert 0 <= float(changed.min()) <= float(changed.max()) <= 255


def test_a_gray_picture_stays_gray_whatever_its_hue() -> None:
    gray = pictures(0).permute(0, 3, 1, 2).float().mean(1, keepdim=True).expand(-1, 3, -1, -1)
    changed = jitter_colors(gray, 1.0, generator())
    assert float((changed.amax(1) - changed.amin(1)).max()) < 0.5


def test_texture_is_added_to_flat_areas_only() -> None:
    given = torch.full((4, 3, 64, 64), 120.0)
    given[..., 32:] = 240.0 * (torch.arange(32) % 2)  # stripes
    found = add_texture(given, 1.0, 20.0, generator())
    change = (found - given).abs()
    assert float(change[..., :20].mean()) > 1
    assert float(change[..., 44:].max()) == 0
    assert torch.equal(add_texture(given, 0.0, 20.0, generator()), given)


@pytest.mark.parametrize("deviation", [5.0, 20.0])
def test_texture_is_at_most_as_strong_as_asked_for(deviation: float) -> None:
    found = add_texture(torch.full((64, 3, 96, 96), 127.0), 1.0, deviation, generator())
    strongest = float(found.std((1, 2, 3)).max())
    assert 0.6 * deviation < strongest < 1.1 * deviation


def test_flatness_is_one_in_a_constant_picture() -> None:
    assert bool((flatness(torch.full((1, 3, 32, 32), 40.0)) == 1).all())
