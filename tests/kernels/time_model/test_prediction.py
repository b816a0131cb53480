"""The model derives its times from a card's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.network.dispatch import BACKENDS
from kernels.network.shapes import WITH_KERNELS
from kernels.time_model.cards import cards, find
from kernels.time_model.prediction import (
    Constants,
    backend_for,
    calibration,
    layer_ms,
    predict,
    tensor_rate,
)
from kernels.time_model.work import Work

# two tiles per block, one block per multiprocessor
LAYER = Work("conv", "same", 264, 132, 1_024_000, 0, 0, 0)
PLAIN = Constants(0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
CARD = replace(find("H200"), clock_mhz=1000.0)


@pytest.mark.parametrize(
    ("name", "backend", "of_lite"),
    [
        ("RTX 3060", "sm80-small", "sm80"),
        ("RTX 5090", "sm80-small", "sm80"),
        ("A100-SXM4-40GB", "sm80", "sm80"),
        ("H100 PCIe", "sm90", "sm80"),
    ],
)
def test_a_card_is_predicted_for_the_backend_that_runs_there(name, backend, of_lite):
    card = find(name)
    assert (backend_for(card), backend_for(card, "lite")) == (backend, of_lite)
    assert predict(card, 512, 512).backend == backend
    assert predict(card, 512, 512, "lite").backend == of_lite


@pytest.mark.parametrize("name", ["GTX 1660 Ti", "RTX 2080 Ti", "Tesla T4"])
@pytest.mark.parametrize("network", WITH_KERNELS)
def test_a_card_whose_kernels_were_not_measured_is_not_predicted(name, network):
    assert backend_for(find(name), network) == "sm75"
    with pytest.raises(ValueError, match="the time model was not fitted to the backend sm75"):
        predict(find(name), 512, 512, network)


def test_a_card_without_the_native_network_is_told_why_and_not_predicted():
    with pytest.raises(ValueError, match=r"compute capability 7\.5; runs layer by layer$"):
        predict(replace(find("Tesla T4"), capability=(7, 0)), 512, 512)


@pytest.mark.parametrize("card", [card for card in cards() if card.capability >= (8, 0)], ids=str)
def test_a_larger_picture_or_network_takes_longer_on_every_card(card):
    full, lite = (
        [predict(card, *size, network).ms for size in ((512, 512), (1280, 720), (1920, 1080))]
        for network in ("full", "lite")
    )
    for times in (full, lite):
        assert 0 < times[0] < times[1] < times[2]
    assert all(less < more for less, more in zip(lite, full, strict=True))


def test_the_network_takes_the_sum_of_its_layers():
    found = predict(find("RTX 3060"), 512, 512)
    assert len(found.layers_ms) == 16
    assert found.ms == pytest.approx(sum(found.layers_ms.values()))
    assert found.fps == pytest.approx(1000 / found.ms)


def test_the_multiprocessor_with_the_most_tiles_decides():
    def us(tiles: int, blocks: int) -> float:
        layer = replace(LAYER, tiles=tiles, blocks=blocks)
        return 1e3 * layer_ms(layer, CARD, PLAIN, 1024)

    assert us(132, 132) == pytest.approx(1.0)
    assert us(133, 67) == us(264, 132) == pytest.approx(2.0)  # a block has two tiles
    assert us(264, 264) == pytest.approx(2.0)  # a multiprocessor has two blocks
    assert us(300, 150) == pytest.approx(4.0)  # the first 18 have two blocks of two tiles


def test_work_beside_the_tensor_cores_does_not_depend_on_their_rate():
    beside = replace(PLAIN, tile_clocks=500.0, product_clocks=3.0, element_clocks=512.0)
    layer = replace(LAYER, tiles=1, blocks=1, elements=2000)
    fast, slow = (1e3 * layer_ms(layer, CARD, beside, rate) for rate in (1024, 256))
    assert fast == pytest.approx(1 + 0.5 + 3 + 1)
    assert slow == pytest.approx(4 + 0.5 + 3 + 1)


def test_blocks_of_a_multiprocessor_hide_work_but_not_the_tensor_cores_clocks():
    beside = replace(PLAIN, product_clocks=1.0, overlap=0.5)

    def us(blocks: int, rate: float) -> float:
        return 1e3 * layer_ms(replace(LAYER, blocks=blocks), CARD, beside, rate)

    assert us(132, 1024) == pytest.approx(4.0)
    assert us(264, 1024) == pytest.approx(4.0 * 0.75)
    assert us(264, 128) == pytest.approx(2 * 8.0)


def test_a_layer_takes_at_least_the_time_of_its_bytes_and_its_launch():
    constants = replace(PLAIN, launch_us=3.0, bandwidth_share=0.5)
    slow = replace(CARD, bandwidth_gb_s=100.0, l2_mb=1.0)
    layer = replace(LAYER, bytes_in=600_000, bytes_out=200_000)
    assert 1e3 * layer_ms(layer, slow, constants, 1024) == pytest.approx(3 + 16.0)
    cached = replace(slow, l2_mb=2.0)
    assert 1e3 * layer_ms(layer, cached, constants, 1024) == pytest.approx(3 + 4.0)


def test_mma_sync_does_not_reach_the_rate_of_hoppers_own_instructions():
    card = find("H200")
    assert tensor_rate(card, "sm90") == card.tensor_rate
    assert tensor_rate(card, "sm80") == 1350
    assert tensor_rate(find("A100-SXM4-40GB"), "sm80") == 1024


def test_the_constants_are_fitted_and_their_source_is_told():
    told = calibration()
    assert set(told.constants) == {row.name for row in BACKENDS} - {"sm75"}
    assert "H200" in told.source
    for constants in told.constants.values():
        assert 0 < constants.launch_us < 50
        assert 0 < constants.bandwidth_share <= 1
