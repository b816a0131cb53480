"""Weights packed for a wheel unpack to the same weights, and are smaller there."""

from __future__ import annotations

import shutil
import zlib

import pytest
import torch

from app.styles.catalog import BUILTIN
from app.styles.pack import StyleError, check_all_weights, load_pack
from models.checkpoints import CheckpointError, load_checkpoint
from utils.files import byte_planes
from wheels import packing
from wheels.packing import pack, pack_styles


@pytest.mark.parametrize("data", [b"", b"a", b"abc", b"abcdefgh", bytes(range(256)) * 3])
def test_what_was_packed_is_unpacked(data):
    assert byte_planes.unpack(pack(data)) == data
    assert byte_planes.unpack(data) == data
    assert packing.MAGIC == byte_planes.MAGIC


def test_a_packed_style_has_the_same_weights_and_compresses_better(tmp_path):
    shutil.copytree(BUILTIN / "candy", tmp_path / "candy")
    pack_styles(tmp_path)
    ours, packed = load_pack(BUILTIN / "candy"), load_pack(tmp_path / "candy")
    check_all_weights(packed)
    assert (packed.sha256, packed.lite_sha256) == (ours.sha256, ours.lite_sha256)
    assert ours.lite is not None
    assert packed.lite is not None
    for before, after in ((ours.weights, packed.weights), (ours.lite, packed.lite)):
        assert after.suffix == ".planes"
        expected, found = load_checkpoint(before), load_checkpoint(after)
        assert expected.keys() == found.keys()
        assert all(torch.equal(expected[name], found[name]) for name in expected)
        small, large = (len(zlib.compress(path.read_bytes())) for path in (after, before))
        assert small < 0.95 * large
    assert not list(tmp_path.rglob("*.safetensors"))


def test_packed_weights_that_were_changed_are_refused(tmp_path):
    shutil.copytree(BUILTIN / "candy", tmp_path / "candy")
    pack_styles(tmp_path)
    path = tmp_path / "candy" / "weights.planes"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(StyleError, match="the sha256 differs"):
        check_all_weights(load_pack(tmp_path / "candy"))
    path.write_bytes(data[:1000])
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        load_checkpoint(path)
