"""Layers of two networks are compared in rows that both have, and never invented."""

from __future__ import annotations

import pytest

from app.engine.result import Timings
from app.speed_test.layers import LayerRow, common_rows, fits, medians

PLAIN = {"encoder/conv1": 4.0, "residual blocks/res1": 6.0, "decoder/deconv1": 8.0}
DIVIDED = {
    "encoder/conv1": 2.0,
    "residual blocks/res1.conv1": 1.0,
    "residual blocks/res1.conv2": 2.0,
    "decoder/deconv1": 4.0,
}


def test_a_divided_block_is_summed_to_the_block_of_the_other_network():
    rows = common_rows(PLAIN, DIVIDED)
    assert [row.name for row in rows] == list(PLAIN)
    assert rows[1] == LayerRow("residual blocks/res1", 6.0, 3.0)
    assert rows[1].ratio == 2.0


def test_networks_with_other_layers_are_compared_by_their_groups():
    fused = {"encoder/all": 2.0, "residual blocks/all": 3.0, "decoder/all": 4.0}
    assert [row.name for row in common_rows(PLAIN, fused)] == [
        "encoder",
        "residual blocks",
        "decoder",
    ]


def test_networks_without_a_common_part_have_no_rows():
    assert common_rows(PLAIN, {"stem/conv": 1.0}) == ()


@pytest.mark.parametrize(("network_ms", "fit"), [(18.0, True), (30.0, False), (10.0, False)])
def test_layers_have_to_add_up_to_about_the_time_of_the_network(network_ms, fit):
    assert fits(PLAIN, network_ms) is fit


def test_a_layer_has_the_median_time_of_the_pictures():
    pictures = [Timings(layers=(("a/b", ms),)) for ms in (1.0, 9.0, 2.0)]
    assert medians(pictures) == {"a/b": 2.0}
