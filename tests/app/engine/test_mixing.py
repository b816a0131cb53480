"""Two styles are mixed in one network, and lite networks run where they are selected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.engine.engine import EngineError
from tests.app.engine.conftest import shown
from tests.helpers.errors import mentions


def test_a_mix_is_between_the_two_and_says_so(engine, pair, frame):
    alone = replace(pair, mix=None)
    first = shown(engine, alone, frame).frame.pixels
    second = shown(engine, replace(alone, style="second"), frame).frame.pixels
    mixed = shown(engine, pair, frame)
    assert mentions(str(mixed.running), "First 60 %", "Second 40 %", "Fused, FP32, CPU")
    np.testing.assert_array_equal(
        shown(engine, replace(pair, mix_amount=0.0), frame).frame.pixels, first
    )
    np.testing.assert_array_equal(
        shown(engine, replace(pair, mix_amount=1.0), frame).frame.pixels, second
    )
    assert (mixed.frame.pixels != first).any()
    assert (mixed.frame.pixels != second).any()


def test_a_mix_that_cannot_be_is_refused_and_the_old_config_stays(engine, pair, config, frame):
    engine.configure(pair)
    with pytest.raises(EngineError, match="cannot be mixed"):
        engine.configure(replace(pair, mix="candy"))
    assert engine.process(frame).config == pair
    with pytest.raises(EngineError, match="did you mean second"):
        engine.configure(replace(pair, mix="secund"))


def test_a_mix_survives_evicting_one_of_the_two(engine, pair, frame):
    before = shown(engine, pair, frame).frame.pixels
    engine.evict("second")
    np.testing.assert_array_equal(engine.process(frame).frame.pixels, before)
    np.testing.assert_array_equal(shown(engine, pair, frame).frame.pixels, before)


def test_lite_runs_the_lite_network_and_full_the_full_one(engine, pair, frame):
    alone = replace(pair, mix=None)
    lite = shown(engine, replace(alone, network="lite"), frame)
    full = shown(engine, replace(alone, network="full"), frame)
    assert (lite.running.lite, full.running.lite) == (True, False)
    assert str(lite.running).startswith("Fused, Lite, FP32, CPU")
    assert (lite.frame.pixels != full.frame.pixels).any()


def test_without_a_lite_network_the_full_one_runs_and_says_so(engine, pair, frame):
    styled = shown(engine, replace(pair, network="lite"), frame)
    assert not styled.running.lite
    limitations = styled.running.limitations
    assert any(mentions(each, "Second", "no lite network") for each in limitations)


def test_lite_weights_that_were_tampered_with_are_refused(engine, catalog, pair):
    weights = catalog.get("first").lite
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    with pytest.raises(EngineError, match=r"lite\.safetensors.*First.*sha256"):
        engine.configure(replace(pair, mix=None, network="auto"))
    engine.configure(replace(pair, mix=None, network="full"))
