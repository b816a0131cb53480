"""The model follows from a card's figures what it says of the time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.time_model.cards import cards, find
from kernels.time_model.prediction import (
    Constants,
    Resources,
    backend_for,
    calibration,
    layer_ms,
    predict,
    resident_blocks,
    tensor_rate,
)
from kernels.time_model.work import Work

LAYER = Work("conv", "same", 264, 1_024_000, 0, 0, 0, 256, 100_000)
PLAIN = Constants(0.0, 0.0, 0.0, 0.0, 1.0)
CARD = replace(find("H200"), clock_mhz=1000.0)


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("RTX 3060", "sm80-small"),
        ("RTX 5090", "sm80-small"),
        ("A100-SXM4-40GB", "sm80"),
        ("H100 PCIe", "sm90"),
    ],
)
def test_a_card_is_predicted_for_the_backend_that_runs_there(name, backend):
    card = find(name)
    assert backend_for(card) == backend
    assert predict(card, 512, 512).backend == backend


@pytest.mark.parametrize("name", ["GTX 1660 Ti", "RTX 2080 Ti", "Tesla T4"])
def test_a_card_without_the_native_network_is_told_why_and_not_predicted(name):
    with pytest.raises(ValueError, match=r"compute capability 8\.0; runs layer by layer$"):
        predict(find(name), 512, 512)


@pytest.mark.parametrize("card", [card for card in cards() if card.capability >= (8, 0)], ids=str)
def test_a_larger_picture_takes_longer_on_every_card(card):
    small, middle, large = (
        predict(card, *size).ms for size in ((512, 512), (1280, 720), (1920, 1080))
    )
    assert 0 < small < middle < large


def test_the_network_takes_the_sum_of_its_layers():
    found = predict(find("RTX 3060"), 512, 512)
    assert len(found.layers_ms) == 16
    assert found.ms == pytest.approx(sum(found.layers_ms.values()))
    assert found.fps == pytest.approx(1000 / found.ms)


def test_one_tile_more_than_the_multiprocessors_have_rounds_is_another_round():
    def us(blocks: int) -> float:
        return 1e3 * layer_ms(replace(LAYER, blocks=blocks), CARD, PLAIN, 1, 1024)

    assert us(132) == pytest.approx(1.0)
    assert us(133) == us(264) == pytest.approx(2.0)


def test_work_beside_the_tensor_cores_does_not_depend_on_their_rate():
    beside = replace(PLAIN, product_clocks=3.0, element_clocks=512.0)
    layer = replace(LAYER, blocks=1, elements=2000)
    fast, slow = (1e3 * layer_ms(layer, CARD, beside, 1, rate) for rate in (1024, 256))
    assert fast == pytest.approx(1 + 3 + 1)
    assert slow == pytest.approx(4 + 3 + 1)


def test_blocks_of_a_multiprocessor_hide_work_but_not_the_tensor_cores_clocks():
    beside = replace(PLAIN, product_clocks=1.0, overlap=0.5)

    def us(resident: int, rate: float) -> float:
        return 1e3 * layer_ms(LAYER, CARD, beside, resident, rate)

    assert us(1, 1024) == pytest.approx(4.0)
    assert us(2, 1024) == pytest.approx(4.0 * 0.75)
    assert us(2, 128) == pytest.approx(2 * 8.0)
    alone = layer_ms(replace(LAYER, blocks=132), CARD, beside, 2, 1024)
    assert alone == layer_ms(replace(LAYER, blocks=132), CARD, beside, 1, 1024)


def test_a_layer_takes_at_least_the_time_of_its_bytes_and_its_launch():
    constants = replace(PLAIN, launch_us=3.0, bandwidth_share=0.5)
    slow = replace(CARD, bandwidth_gb_s=100.0, l2_mb=1.0)
    layer = replace(LAYER, bytes_in=600_000, bytes_out=200_000)
    assert 1e3 * layer_ms(layer, slow, constants, 1, 1024) == pytest.approx(3 + 16.0)
    cached = replace(slow, l2_mb=2.0)
    assert 1e3 * layer_ms(layer, cached, constants, 1, 1024) == pytest.approx(3 + 4.0)


@pytest.mark.parametrize(
    ("registers", "threads", "shared_kb", "resident"),
    [(158, 256, 228, 1), (114, 256, 228, 2), (32, 64, 228, 2), (32, 64, 100, 1)],
)
def test_registers_or_shared_memory_limit_the_blocks_of_a_multiprocessor(
    registers, threads, shared_kb, resident
):
    layer = replace(LAYER, threads=threads)
    assert resident_blocks(layer, Resources(registers, 4000), shared_kb * 1024) == resident


def test_hoppers_general_path_does_not_reach_the_rate_of_its_own():
    card = find("H200")
    assert tensor_rate(card, "sm90") == card.tensor_rate
    assert tensor_rate(card, "sm80") == pytest.approx(0.62 * card.tensor_rate)
    assert tensor_rate(find("A100-SXM4-40GB"), "sm80") == 1024


def test_the_constants_are_fitted_and_their_source_is_told():
    told = calibration()
    assert set(told.constants) == {"general", "hopper"}
    assert "H200" in told.source
    for constants in told.constants.values():
        assert 0 < constants.launch_us < 50
        assert 0 < constants.bandwidth_share <= 1
