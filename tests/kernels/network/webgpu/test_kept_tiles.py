"""Tuned tiles are kept for one GPU and network, and a damaged file is no tiles and a reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.network.shapes import FULL, LITE
from kernels.network.webgpu import kept_tiles
from kernels.network.webgpu.adapters import Adapter
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.tiles import CANDIDATES, DEFAULT

GPU = Adapter("Arc", "Vulkan", "Mesa 25.1", False, True, True, 1 << 30, None)
NETWORK = Network.of(FULL, half=True)
TILES = replace(DEFAULT, **{field: tiles[-1] for field, tiles in CANDIDATES.items()})
TUNED = replace(NETWORK, tiles=TILES, sums="fp16")


def test_tiles_come_back(tmp_path):
    folder = tmp_path / "new"
    assert kept_tiles.read(folder, GPU, NETWORK) == (None, "")
    kept_tiles.write(folder, GPU, TUNED)
    assert kept_tiles.read(folder, GPU, NETWORK) == (TUNED, "")
    assert [path.name for path in folder.iterdir()] == [kept_tiles.NAME]


@pytest.mark.parametrize(
    "other",
    [
        replace(GPU, name="Arc B580"),
        replace(GPU, backend="D3D12"),
        replace(GPU, driver="Mesa 25.2"),
        replace(NETWORK, half=False),
        replace(NETWORK, winograd=False),
        replace(NETWORK, enlarging_winograd=not NETWORK.enlarging_winograd),
        replace(NETWORK, widths=LITE.widths),
        replace(NETWORK, end_kernel=5),
    ],
)
def test_another_gpu_driver_or_network_has_tiles_of_its_own(tmp_path, other):
    kept_tiles.write(tmp_path, GPU, TUNED)
    pair = (other, NETWORK) if isinstance(other, Adapter) else (GPU, other)
    assert kept_tiles.read(tmp_path, *pair) == (None, "")
    kept_tiles.write(tmp_path, *pair)
    assert kept_tiles.read(tmp_path, *pair).network == pair[1]
    assert kept_tiles.read(tmp_path, GPU, NETWORK).network == TUNED, "both stay"


def test_another_version_of_wgpu_has_no_tiles(tmp_path, monkeypatch):
    kept_tiles.write(tmp_path, GPU, TUNED)
    monkeypatch.setattr(kept_tiles, "version", lambda _: "0.99")
    assert kept_tiles.read(tmp_path, GPU, NETWORK) == (None, "")


def changed(folder: Path, **values: Any) -> None:
    """Change fields of the tile `wide` in the file."""
    path = folder / kept_tiles.NAME
    rows = json.loads(path.read_text())
    for row in rows.values():
        row["tiles"]["wide"] |= values
    path.write_text(json.dumps(rows))


def test_unknown_fields_are_ignored_and_missing_tiles_are_the_default(tmp_path):
    kept_tiles.write(tmp_path, GPU, TUNED)
    path = tmp_path / kept_tiles.NAME
    rows = json.loads(path.read_text())
    for row in rows.values():
        row["date"] = [1]
        row["tiles"]["matrix"] = {"width": 3}
        del row["tiles"]["narrow"]
        row["tiles"]["wide"]["swizzle"] = 9
    path.write_text(json.dumps(rows | {"another": 5}))
    found = kept_tiles.read(tmp_path, GPU, NETWORK)
    tiles = replace(TILES, narrow=DEFAULT.narrow)
    assert found == (replace(TUNED, tiles=tiles), "")


@pytest.mark.parametrize(
    "values", [{"width": 1 << 20}, {"width": "16"}, {"taps": True}, {"depth": None}]
)
def test_a_tile_that_no_test_knows_is_refused(tmp_path, values):
    kept_tiles.write(tmp_path, GPU, NETWORK)
    changed(tmp_path, **values)
    network, reason = kept_tiles.read(tmp_path, GPU, NETWORK)
    assert network is None
    assert kept_tiles.NAME in reason


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"7", b"[" * 5000])
def test_a_damaged_file_is_a_reason_and_is_replaced(tmp_path, content):
    path = tmp_path / kept_tiles.NAME
    path.write_bytes(content)
    network, reason = kept_tiles.read(tmp_path, GPU, NETWORK)
    assert network is None
    assert kept_tiles.NAME in reason
    kept_tiles.write(tmp_path, GPU, TUNED)
    assert kept_tiles.read(tmp_path, GPU, NETWORK) == (TUNED, "")


def test_a_row_that_is_no_table_spoils_no_other(tmp_path):
    kept_tiles.write(tmp_path, GPU, TUNED)
    path = tmp_path / kept_tiles.NAME
    rows = json.loads(path.read_text())
    (name,) = rows
    for damaged in (3, {}, {"tiles": []}):
        path.write_text(json.dumps({name: damaged}))
        assert kept_tiles.read(tmp_path, GPU, NETWORK).network is None
        assert kept_tiles.read(tmp_path, GPU, NETWORK).reason
        assert kept_tiles.read(tmp_path, replace(GPU, name="Xe"), NETWORK) == (None, "")


@pytest.mark.parametrize("sums", ["fp16", "fp8", 3, None, ["fp16"]])
def test_sums_in_fp16_need_a_network_in_fp16(tmp_path, sums):
    plain = replace(NETWORK, half=False)
    kept_tiles.write(tmp_path, GPU, plain)
    path = tmp_path / kept_tiles.NAME
    rows = json.loads(path.read_text())
    for row in rows.values():
        row["sums"] = sums
    path.write_text(json.dumps(rows))
    assert kept_tiles.read(tmp_path, GPU, plain) == (plain, "")


def test_a_file_that_cannot_be_opened_is_a_reason(tmp_path):
    (tmp_path / kept_tiles.NAME).mkdir()
    assert kept_tiles.read(tmp_path, GPU, NETWORK).reason
    with pytest.raises(OSError, match=kept_tiles.NAME):
        kept_tiles.write(tmp_path, GPU, TUNED)
