"""The model of WebGPU counts a layer's work, and takes the slower of products and bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.network.shapes import WITH_KERNELS
from kernels.network.webgpu.layers import Network
from kernels.time_model.webgpu import Constants, Work, calibration, layer_ms, predict, work
from kernels.time_model.webgpu_cards import GpuCard, card_of_adapter, gpu_cards

CARD = GpuCard("A GPU", "^A GPU$", 2.0, 1.0, "a test")  # 1e9 products and 1e6 bytes in a ms
EXACT = Constants(0.0, 1.0, {"full": {"conv": 1.0, "half": 0.5}})


def test_a_layer_takes_the_slower_of_its_products_and_bytes():
    assert layer_ms(Work("conv", 1, 4 * 10**9, 10**6), CARD, EXACT, "full") == 4.0
    assert layer_ms(Work("conv", 1, 10**9, 3 * 10**6), CARD, EXACT, "full") == 3.0
    assert layer_ms(Work("half", 1, 10**9, 0), CARD, EXACT, "full") == 2.0, "at half the rate"


def test_transforms_and_dispatches_add_to_a_layer():
    constants = replace(EXACT, dispatch_us=100.0, bandwidth_share=0.5)
    layer = Work("conv", 4, 10**9, 0, moved=10**6)
    assert layer_ms(layer, CARD, constants, "full") == pytest.approx(0.4 + 2.0 + 1.0)


def test_the_work_of_the_full_network_is_that_of_its_layers():
    found = work("full", 64, 32)
    pixels = 64 * 32
    assert [*found] == [*Network.of(WITH_KERNELS["full"]).layers]
    first = found["encoder/conv1"]
    assert (first.products, first.bytes) == (pixels * 3 * 32 * 81, pixels * (3 + 32 * 2))
    assert found["encoder/conv2"].products == pixels // 4 * 32 * 64 * 9
    assert found["decoder/deconv1"].products == 25 * 5 * 3 * 128 * (4 * 64), "tiles of all phases"
    direct = work("lite", 64, 32)["decoder/deconv1"]
    assert direct.products == pixels // 4 * 48 * 32 * 4, "four taps a phase"
    assert found["decoder/deconv3"].products == pixels * 32 * 3 * 81
    tiles = 4 * 2
    outward, inward = (found[f"residual blocks/res2.conv{n}"] for n in (1, 2))
    assert outward.products == inward.products == 36 * tiles * 128**2
    quarter = pixels // 16 * 128 * 2
    assert outward.moved - inward.moved == 2 * quarter, "reads a residual, writes its input"


def test_storage_in_fp32_moves_twice_the_bytes():
    half, single = (work("lite", 64, 32, half=half) for half in (True, False))
    for name, layer in half.items():
        assert layer.products == single[name].products
        assert layer.moved * 2 == single[name].moved
    assert single["encoder/conv2"].bytes == 2 * half["encoder/conv2"].bytes


def test_sides_that_are_no_multiple_of_four_are_padded():
    assert work("full", 61, 29) == work("full", 64, 32)


@pytest.mark.parametrize("card", gpu_cards(), ids=lambda card: card.name)
def test_a_larger_picture_or_network_takes_longer_on_every_gpu(card):
    full, lite = (
        [predict(card, *size, name).ms for size in ((512, 512), (1280, 720), (1920, 1080))]
        for name in ("full", "lite")
    )
    assert sorted(full) == full
    assert all(small < large for small, large in zip(lite, full, strict=True))
    assert predict(card, 1280, 720).ms < predict(card, 1280, 720, half=False).ms


@pytest.mark.parametrize(
    ("adapter", "name"),
    [
        ("Apple M1", "Apple M1"),
        ("Intel(R) Iris(R) Xe Graphics (TGL GT2)", "Intel Iris Xe"),
        ("AMD Radeon 780M Graphics (RADV GFX1103_R1)", "AMD Radeon 780M"),
        ("Intel(R) Arc(TM) A750 Graphics (DG2)", "Intel Arc A750"),
        ("Intel(R) UHD Graphics 620 (KBL GT2)", "Intel UHD 620"),
        ("NVIDIA H200", "NVIDIA H200"),
        ("Apple M1 Max", None),
        ("Intel(R) UHD Graphics 630", None),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", None),
    ],
)
def test_a_driver_names_a_card_of_the_table_or_none(adapter, name):
    card = card_of_adapter(adapter)
    assert (card and card.name) == name


def test_stored_constants_are_shares():
    constants = calibration().constants
    assert 0 < constants.bandwidth_share < 1
    assert {*constants.efficiencies} == {*WITH_KERNELS}
    assert all(0 < each < 1 for kinds in constants.efficiencies.values() for each in kinds.values())
