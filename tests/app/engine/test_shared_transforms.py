"""Engines share the transformed weights of a style, and a slider of a mix transforms nothing."""

from __future__ import annotations

from dataclasses import asdict, replace
from weakref import WeakValueDictionary

import numpy as np
import pytest
import torch

from app.engine.engine import Engine
from kernels.network.cpu.launchers import CpuNetwork
from models.checkpoints import save_checkpoint
from models.inference import style_state
from models.inference.style_state import MixedState
from models.network_config import NetworkConfig
from models.transformer_net import TransformerNetBaseline
from tests.app.engine.conftest import shown
from tests.conftest import add_style

SHAPE = NetworkConfig(1, (16, 16, 32), 5)
NATIVE = 7  # convolutions that CpuNetwork.transformed transforms: all except the last


@pytest.fixture(autouse=True)
def no_other_styles(monkeypatch) -> None:
    """Forget the styles of other tests, which have the same weights."""
    monkeypatch.setattr(style_state, "_states", WeakValueDictionary())


@pytest.fixture
def transforms(monkeypatch) -> list[int]:
    """Return a list that grows with each transform of a convolution's weights."""
    made: list[int] = []
    transform = CpuNetwork.transformed

    def counted(self, filters, rows):
        made.append(filters.data_ptr())
        return transform(self, filters, rows)

    monkeypatch.setattr(CpuNetwork, "transformed", counted)
    return made


@pytest.fixture
def wide(catalog, tmp_path, config):
    """Return a config that mixes two styles that the native network paints."""
    add_style(tmp_path, "first", 11, SHAPE)
    add_style(tmp_path, "second", 12, SHAPE)
    catalog.reload()
    return replace(config, style="first", mix="second", mix_amount=0.4)


def test_two_engines_transform_a_style_once(engine, catalog, wide, frame, transforms):
    alone, other = replace(wide, mix=None), Engine(catalog)
    first = shown(engine, alone, frame).frame.pixels
    second = shown(other, alone, frame).frame.pixels
    assert len(transforms) == NATIVE
    np.testing.assert_array_equal(first, second)


def test_styles_that_alternate_are_transformed_once(engine, wide, frame, transforms):
    alone = replace(wide, mix=None)
    pictures = [
        shown(engine, replace(alone, style=style), frame).frame.pixels
        for style in ("first", "second", "first")
    ]
    assert len(transforms) == 2 * NATIVE
    np.testing.assert_array_equal(pictures[0], pictures[2])
    assert (pictures[0] != pictures[1]).any()


def test_a_mix_uses_the_transforms_of_its_styles(engine, wide, frame, transforms):
    shown(engine, replace(wide, mix=None), frame)
    shown(engine, wide, frame)
    assert len(transforms) == 2 * NATIVE
    pictures = [
        shown(engine, replace(wide, mix_amount=share), frame).frame.pixels for share in (0.1, 0.9)
    ]
    assert len(transforms) == 2 * NATIVE
    assert (pictures[0] != pictures[1]).any()


@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "in a mix"])
def test_a_file_that_was_replaced_is_painted_after_eviction(
    engine, catalog, wide, frame, tmp_path, mixed
):
    config = wide if mixed else replace(wide, mix=None)
    before = shown(engine, config, frame).frame.pixels
    torch.manual_seed(13)
    state = TransformerNetBaseline(**asdict(SHAPE)).state_dict()
    save_checkpoint(tmp_path / "styles" / "first" / "weights.safetensors", state)
    engine.evict("first")
    after = shown(engine, config, frame).frame.pixels
    assert (after != before).any()
    fresh = Engine(catalog)
    np.testing.assert_array_equal(after, shown(fresh, config, frame).frame.pixels)


def test_a_style_alone_frees_the_mix(engine, wide, frame):
    shown(engine, wide, frame)
    weights = engine._style_weights
    assert isinstance(weights.active(lite=False).state, MixedState)
    shown(engine, replace(wide, mix=None), frame)
    assert not weights._mixes
