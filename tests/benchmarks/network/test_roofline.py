"""The floor covers the network's exact rewrites and names what it bounds."""

from __future__ import annotations

import pytest

from benchmarks.network.roofline import RATES, Rates, activation_bytes, floor_ms
from models.network_config import FULL, LITE
from models.precision import Precision

H200 = RATES["NVIDIA H200"]


@pytest.mark.parametrize(
    ("width", "height", "ms"), [(512, 512, 0.092), (1280, 720, 0.322), (1920, 1080, 0.725)]
)
def test_the_floor_on_an_h200_is_the_one_worked_out_by_hand(width, height, ms):
    assert floor_ms(FULL, width, height, 2, H200) == pytest.approx(ms, rel=5e-3)


def test_where_moving_is_free_multiplying_is_what_counts():
    only_multiplying = floor_ms(FULL, 512, 512, 2, Rates(flops=1e12, bytes=float("inf")))
    assert only_multiplying == pytest.approx(69.9, rel=1e-3)  # GFLOP at 1 TFLOP/s, in ms
    published = 2 * FULL.multiply_adds(512, 512)
    assert published / only_multiplying / 1e9 == pytest.approx(1.154, rel=1e-3)


def test_where_multiplying_is_free_wider_activations_take_longer():
    def moving(element_bytes: int) -> float:
        return floor_ms(FULL, 512, 512, element_bytes, Rates(flops=float("inf"), bytes=1e12))

    assert 1.9 < moving(4) / moving(2) < 2


def test_sides_that_are_no_multiples_of_four_are_padded():
    assert floor_ms(FULL, 509, 511, 2, H200) == pytest.approx(
        floor_ms(FULL, 512, 512, 2, H200), rel=1e-3
    )


def test_the_lite_network_has_a_lower_floor():
    assert floor_ms(LITE, 512, 512, 2, H200) < floor_ms(FULL, 512, 512, 2, H200) / 2


def test_autocast_keeps_activations_in_half_precision():
    taken = {precision.name: activation_bytes(precision) for precision in Precision}
    assert taken == {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "amp": 2, "int8": 2}
