"""The figures in docs/kernels.md are those of the library."""

from __future__ import annotations

import re

import pytest

from kernels.jit.libraries import FOLDER

PAGE = FOLDER.parent / "docs" / "kernels.md"
ROW = r"^\| {} \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$"


@pytest.mark.parametrize("layer", ["down1", "down2", "same", "up1", "up2"])
def test_the_page_shows_threads_and_shared_memory_as_compiled(layer, described):
    found = re.search(ROW.format(layer), PAGE.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    sm80, sm90 = (
        described.sm80.networks["full"].convs[layer],
        described.sm90.precisions["fp16"].convs[layer],
    )
    assert [int(figure.replace(",", "")) for figure in found.groups()] == [
        sm80.threads,
        sm80.shared_bytes,
        sm90.threads,
        sm90.shared_bytes,
    ]


@pytest.mark.parametrize(
    "layer", ["first", "down1", "down2", "same", "same_wide", "up1", "up2", "last"]
)
def test_the_page_shows_the_lite_networks_tiles_and_shared_memory(layer, described):
    lite = described.sm80.networks["lite"]
    traits = lite.convs.get(layer) or {"first": lite.first, "last": lite.last}[layer]
    row = (
        f"| lite {layer} | {traits.tile_h}x{traits.tile_w} | {traits.threads} "
        f"| {traits.shared_bytes:,} |"
    )
    assert row in PAGE.read_text("utf-8").splitlines()
