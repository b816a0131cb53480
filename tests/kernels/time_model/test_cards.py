"""The table of cards has NVIDIA's figures, and the driver describes cards missing from it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernels.network.gpu import Gpu
from kernels.time_model import cards as module
from kernels.time_model.cards import card_of, cards, find

# NVIDIA's published peak of dense FP16 products with FP32 accumulation, in TFLOP/s.
PEAKS = {
    "Tesla T4": 65,
    "A100-SXM4-40GB": 312,
    "A10": 125,
    "RTX 3060": 25.5,
    "RTX 3090": 71,
    "RTX 4090": 165,
    "L4": 121,
    "RTX 5090": 209.5,
}


@pytest.fixture
def present(monkeypatch):
    """Return a function that fakes a GPU: PyTorch reports its name, the driver its properties."""

    def make(name: str, gpu: Gpu) -> torch.device:
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: name)
        monkeypatch.setattr(Gpu, "of", lambda _: gpu)
        return torch.device("cuda", 0)

    return make


class Telling:
    def __init__(self, **told: int) -> None:
        self.told = told

    def attribute(self, attribute: int, device: int) -> int:
        names = [name for name in vars(module) if name.startswith("CU_DEVICE_ATTRIBUTE_")]
        (name,) = (name for name in names if getattr(module, name) == attribute)
        return self.told[name.removeprefix("CU_DEVICE_ATTRIBUTE_").lower()]


def test_the_table_has_the_generations_from_turing_to_blackwell():
    assert len(cards()) >= 20
    assert len({card.name for card in cards()}) == len(cards())
    generations = {card.capability for card in cards()}
    assert generations >= {(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (12, 0)}
    for card in cards():
        assert min(card.multiprocessors, card.clock_mhz, card.bandwidth_gb_s, card.l2_mb) > 0


@pytest.mark.parametrize("name", PEAKS)
def test_rate_clock_and_multiprocessors_make_the_published_peak(name):
    card = find(name)
    peak = 2e-6 * card.tensor_rate * card.multiprocessors * card.clock_mhz
    assert peak == pytest.approx(PEAKS[name], rel=0.02)


def test_only_the_gtx_cards_have_no_tensor_cores():
    assert [card.name for card in cards() if not card.tensor_rate] == [
        card.name for card in cards() if "GTX" in card.name
    ]


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 3060", "rtx 3060", " RTX 3060 "])
def test_a_card_is_found_by_its_name_with_and_without_the_brand(name):
    assert find(name).name == "NVIDIA GeForce RTX 3060"


def test_a_laptop_card_is_another_than_the_desktop_card():
    assert find("RTX 4090 Laptop GPU").multiprocessors < find("RTX 4090").multiprocessors


def test_an_unknown_card_is_one_sentence_with_similar_names():
    with pytest.raises(
        ValueError, match=r"^the table has no card '4070'.* RTX 4070, RTX 4070 Laptop"
    ):
        find("4070")
    with pytest.raises(ValueError, match=r"^the table has no card ''; it has GTX 1650, "):
        find("")


def test_a_card_of_the_table_has_the_figures_of_the_table(present):
    device = present("NVIDIA GeForce RTX 3060", Gpu((8, 6), 101_376, 102_400, 28))
    assert card_of(device) == find("RTX 3060")


def test_of_cards_that_share_a_name_the_driver_tells_the_multiprocessors(present):
    device = present("NVIDIA GeForce RTX 3080", Gpu((8, 6), 101_376, 102_400, 70))
    card = card_of(device)
    assert (card.multiprocessors, card.clock_mhz) == (70, find("RTX 3080").clock_mhz)
    assert card.origin.endswith("with the driver's 70 multiprocessors")


def test_a_part_of_a_card_has_fewer_multiprocessors_and_less_shared_memory_in_each():
    whole = find("H200")
    assert whole.gpu == Gpu((9, 0), 232_448, 233_472, 132)
    assert whole.part(28).gpu == Gpu((9, 0), 232_448, 233_472, 28)
    assert whole.part(28, 100).gpu == Gpu((9, 0), 101_376, 102_400, 28)


def test_a_card_that_the_table_lacks_is_what_the_driver_tells(present):
    device = present("NVIDIA GeForce RTX 9090", Gpu((12, 0), 101_376, 102_400, 200))
    driver: Any = Telling(
        clock_rate=3_000_000,
        memory_clock_rate=14_000_000,
        global_memory_bus_width=512,
        l2_cache_size=128 << 20,
    )
    card = card_of(device, driver)
    assert (card.multiprocessors, card.clock_mhz, card.l2_mb) == (200, 3000, 128)
    assert card.bandwidth_gb_s == 1792
    assert card.shared_kb == 99
    assert "256 multiply-adds per clock and multiprocessor are assumed" in card.origin
    assert "published" not in card.origin


def test_a_driver_that_tells_no_clocks_is_one_sentence(present):
    device = present("NVIDIA X", Gpu((12, 0), 101_376, 102_400, 200))
    driver: Any = Telling(
        clock_rate=3_000_000, memory_clock_rate=0, global_memory_bus_width=0, l2_cache_size=0
    )
    with pytest.raises(ValueError, match=r"^NVIDIA X is not in the table, and the driver does not"):
        card_of(device, driver)
