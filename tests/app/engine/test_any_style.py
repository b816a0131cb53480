"""The engine paints the styles of an any-style network like styles of other families."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig, same_choice
from app.engine.engine import Engine, EngineError
from app.engine.process_mode import ProcessMode
from app.export.image_metadata import image_metadata
from app.frame import Frame
from app.styles.any_style_networks import SHIPPED
from app.styles.catalog import BUILTIN, Catalog
from models.families.any_style import AnyStyleNetwork
from models.families.family import NetworkFamily
from models.families.keys import ANY_STYLE
from models.families.style_codes import load_code, second_path
from models.families.table import FAMILIES
from models.precision import Precision
from tests.app.engine.conftest import shown
from tests.conftest import picture
from tests.helpers.any_style import save_tiny
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.helpers.precisions import offer_all
from utils.images.writing import write_pixels


@pytest.fixture
def network(tmp_path):
    return save_tiny(tmp_path / "net.safetensors")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Return a folder with the styles "warm" and "cold" of a network, and their pictures."""
    folder = tmp_path_factory.mktemp("installed")
    network = save_tiny(tmp_path_factory.mktemp("network") / "net.safetensors")
    catalog = Catalog(BUILTIN, folder / "styles")
    for name, seed in (("warm", 5), ("cold", 6)):
        pixels = picture(96, 72, seed)
        pixels[..., 0 if name == "warm" else 2] = 255
        write_pixels(folder / f"{name}.png", pixels)
        catalog.install_picture(folder / f"{name}.png", network)
    return folder


@pytest.fixture
def styled(catalog, network, installed, tmp_path) -> EngineConfig:
    """Return a config for "warm"; "cold" is the other style of the network."""
    shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
    catalog.reload()
    return EngineConfig("warm", device="cpu", size=64, network="full")


@pytest.fixture
def engine(catalog, notices):
    return Engine(catalog, notices.append)


def painted(network, code, frame):
    """Return the network's own result, [H, W, 3] uint8."""
    module = AnyStyleNetwork.load(network).module()
    x = torch.tensor(frame.pixels).permute(2, 0, 1)[None].float()
    with torch.inference_mode():
        y = module.stylize(x, code)
    return (y[0].clamp(0, 255) + 0.5).to(torch.uint8).permute(1, 2, 0).numpy()


def test_a_style_is_painted_by_its_code(engine, styled, catalog, network, frame):
    result = shown(engine, styled, frame)
    expected = painted(network, load_code(catalog.get("warm").weights).values, frame)
    assert np.abs(result.frame.pixels.astype(int) - expected).max() <= 1
    cold = shown(engine, replace(styled, style="cold"), frame).frame.pixels
    assert (cold != result.frame.pixels).any()
    again = shown(engine, styled, frame).frame.pixels
    np.testing.assert_array_equal(again, result.frame.pixels)


def test_a_mix_is_painted_by_the_code_in_between(engine, styled, catalog, network, frame):
    mixed = shown(engine, replace(styled, mix="cold", mix_amount=0.3), frame)
    warm, cold = (load_code(catalog.get(key).weights).values for key in ("warm", "cold"))
    expected = painted(network, 0.7 * warm + 0.3 * cold, frame)
    assert np.abs(mixed.frame.pixels.astype(int) - expected).max() <= 1
    assert mixed.running.style == "Warm 70 %, Cold 30 %"


def test_four_styles_are_painted_by_the_mean_of_their_codes(
    engine, styled, catalog, network, tmp_path, frame
):
    for name in ("dark", "light"):
        write_pixels(tmp_path / f"{name}.png", picture(90, 90, len(name)))
        catalog.install_picture(tmp_path / f"{name}.png", network)
    more = (("dark", 0.3), ("light", 0.1))
    config = replace(styled, mix="cold", mix_amount=0.2, mix_more=more)
    mixed = shown(engine, config, frame)
    assert mixed.running.style == "Warm 40 %, Cold 20 %, Dark 30 %, Light 10 %"
    code = sum(share * load_code(catalog.get(key).weights).values for key, share in config.parts)
    assert np.abs(mixed.frame.pixels.astype(int) - painted(network, code, frame)).max() <= 1


def test_a_dragged_wheel_is_one_choice_and_another_style_is_another(styled):
    before = replace(styled, mix="cold", mix_amount=0.2, mix_more=(("dark", 0.3),))
    dragged = replace(before, mix_amount=0.4, mix_more=(("dark", 0.1),))
    assert same_choice(before, dragged)
    assert not same_choice(before, replace(before, mix_more=(("light", 0.3),)))
    assert not same_choice(before, replace(before, mix_more=()))


def test_shares_of_more_than_all_are_taken_in_proportion(styled):
    parts = replace(styled, mix="cold", mix_amount=0.9, mix_more=(("dark", 0.6),)).parts
    assert [key for key, _ in parts] == ["warm", "cold", "dark"]
    assert [share for _, share in parts] == pytest.approx([0.0, 0.6, 0.4])


def test_all_styles_of_a_network_share_one_in_memory(engine, styled, frame, monkeypatch):
    built: list[object] = []
    family = type(FAMILIES[ANY_STYLE])
    build = family.build

    def watched(self: NetworkFamily, network: object, kernels: str) -> torch.nn.Module:
        built.append(network)
        return build(self, network, kernels)

    monkeypatch.setattr(family, "build", watched)
    for config in (styled, replace(styled, style="cold"), replace(styled, mix="cold")):
        shown(engine, config, frame)
    assert len(built) == 1


def test_it_is_said_what_runs_and_that_its_kernels_are_pytorchs(engine, styled, network, frame):
    digest = AnyStyleNetwork.load(network).digest[:12]
    result = shown(engine, styled, frame)
    assert str(result.running).startswith(f"Any style (custom, {digest}), Fused, FP32, CPU")
    assert FAMILIES[ANY_STYLE].kernels_remark in result.running.limitations
    about = image_metadata(result)
    assert about["Network"] == f"Any style (custom, {digest})"
    assert (about["Style"], about["Kernels"]) == ("Warm", "Fused")


def test_its_time_is_told_by_groups_and_by_steps(engine, styled, frame):
    groups = shown(engine, styled, frame).timings.groups
    assert [name for name, _ in groups] == ["stem", "blocks", "decoder"]
    engine.time_layers(True)
    steps = shown(engine, replace(styled, strength=0.9), frame).timings.layers
    assert [name for name, _ in steps][:5] == [
        *(f"stem/conv{n}" for n in (1, 2, 3, 4)),
        "blocks/block1",
    ]


@pytest.mark.parametrize("network_choice", ["lite", "auto"])
def test_a_network_that_was_given_has_no_lite_one_and_it_says_so(
    engine, styled, frame, network_choice
):
    config = replace(styled, network=network_choice)
    results = [shown(engine, config, frame) for _ in range(8)]
    assert not any(result.running.lite for result in results)
    if network_choice == "lite":
        assert mentions(str(results[-1].running), "Warm", "no lite network")


@pytest.mark.parametrize("precision", some_daily(Precision, 0, 3))
def test_it_runs_in_every_precision(engine, styled, frame, monkeypatch, precision):
    offer_all(monkeypatch)
    exact = shown(engine, styled, frame).frame.pixels.astype(float)
    result = shown(engine, replace(styled, precision=precision), frame)
    assert result.running.precision is precision
    error = np.square(result.frame.pixels - exact).mean()
    assert error < 4.0, f"{precision.title} is off by {error:.2f} in the mean square"


def test_the_baseline_of_a_comparison_agrees(engine, styled, frame):
    result = shown(engine, replace(styled, compare=True), frame)
    assert result.comparison is not None
    assert result.comparison.agrees
    assert result.comparison.fused_title == "Fused"


@pytest.mark.parametrize(
    "change",
    some_daily(
        [
            {"strength": 0.5},
            {"keep_colors": True},
            {"upsampling": "smooth", "size": 32},
            {"size": 32},
            {"strokes": "bold"},
            {"strokes": "fine"},
        ],
        *(1, 2, 4),
    ),
    ids=str,
)
def test_what_surrounds_the_network_works_as_for_others(engine, styled, frame, change):
    plain = shown(engine, styled, frame).frame.pixels
    changed = shown(engine, replace(styled, **change), frame)
    assert changed.frame.pixels.shape == frame.pixels.shape
    assert (changed.frame.pixels != plain).any()


def test_frames_of_a_stream_are_smoothed(engine, styled, frame):
    config = replace(styled, smoothing=0.8)
    engine.configure(config)
    engine.process(frame, ProcessMode.SEQUENCE)
    noise = np.random.default_rng(0).integers(-2, 3, frame.pixels.shape)
    moved = Frame(np.clip(frame.pixels + noise, 0, 255).astype(np.uint8))
    smooth = engine.process(moved, ProcessMode.SEQUENCE).frame.pixels
    engine.configure(replace(config, smoothing=0.0))
    plain = engine.process(moved, ProcessMode.SEQUENCE).frame.pixels
    assert (smooth != plain).any()


def test_a_batch_is_painted_as_single_frames_are(engine, styled, frame):
    engine.configure(styled)
    other = Frame(frame.pixels[::-1].copy())
    batch = engine.process_batch((frame, other))
    assert [each.batch for each in batch] == [2, 2]
    for each, single in zip(batch, (frame, other), strict=True):
        alone = engine.process(single).frame.pixels.astype(int)
        assert np.abs(each.frame.pixels - alone).max() <= 2


def test_styles_of_two_families_are_not_mixed(engine, styled, frame):
    engine.configure(styled)
    with pytest.raises(
        EngineError,
        match=r"Warm .*Candy .*any-style network",
    ):
        engine.configure(replace(styled, mix="candy"))
    assert engine.process(frame).config == styled


def test_codes_of_two_networks_are_not_mixed(engine, styled, catalog, tmp_path):
    other = save_tiny(tmp_path / "other.safetensors", 2)
    catalog.install_picture(tmp_path / "cold.png", other, "Foreign")
    with pytest.raises(EngineError, match="Foreign cannot be mixed"):
        engine.configure(replace(styled, mix="foreign"))


def test_a_style_of_a_network_that_is_gone_is_made_again_and_says_so(
    styled, catalog, tmp_path, frame
):
    for file in (catalog.user.parent / "any_style").iterdir():
        file.unlink()
    other = save_tiny(tmp_path / "other.safetensors", 2)
    later = Catalog(BUILTIN, catalog.user)
    later.networks.give(other)
    result = shown(Engine(later), styled, frame)
    expected = AnyStyleNetwork.load(other)
    assert expected.digest[:12] in result.running.network
    assert "computed anew" in str(result.running)


def test_the_lite_network_paints_with_a_code_of_its_own(catalog, tmp_path, frame, styled):
    folder = tmp_path / "builtin" / "any_style"
    full, lite = (save_tiny(folder / name, seed) for seed, name in enumerate(SHIPPED, 5))
    shipping = Catalog(tmp_path / "builtin" / "styles", tmp_path / "theirs")
    style = shipping.install_picture(tmp_path / "cold.png")
    engine = Engine(shipping)
    for network, file in (("full", full), ("lite", lite), ("auto", full)):
        result = shown(engine, replace(styled, style=style.key, network=network), frame)
        expected = AnyStyleNetwork.load(file)
        assert expected.digest[:12] in result.running.network
        assert result.running.lite == (network == "lite")
        assert "made again" not in str(result.running)
    assert second_path(style.weights, AnyStyleNetwork.load(lite).digest).is_file()


def test_an_evicted_style_is_read_again(engine, styled, catalog, frame):
    engine.configure(styled)
    catalog.remove("warm")
    engine.evict("warm")
    assert engine.process(frame).config == styled
    with pytest.raises(EngineError, match="no style 'warm'"):
        engine.configure(styled)
