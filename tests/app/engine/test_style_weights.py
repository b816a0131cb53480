"""Two styles are mixed in their weights, and what cannot be mixed says why."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.style_weights import StyleWeights
from app.options import blend_label, parse_mix
from app.styles.pack import StyleError
from models.checkpoints import load_checkpoint
from models.network_config import NetworkConfig
from tests.conftest import add_style

FULL, LITE = NetworkConfig(2, (8, 8, 12), 5), NetworkConfig(1, (4, 4, 6), 3)


@pytest.fixture
def weights(library, tmp_path):
    add_style(tmp_path, "first", 1, FULL, lite=LITE)
    add_style(tmp_path, "second", 2, FULL, lite=LITE)
    add_style(tmp_path, "plain", 3, FULL)
    add_style(tmp_path, "short", 4, LITE)
    library.reload()
    return StyleWeights(library)


def test_a_mix_is_named_with_both_shares():
    assert blend_label("Candy", "Starry Night", 0.4) == "Candy 60 %, Starry Night 40 %"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("udnie:0.4", ("udnie", 0.4)), ("udnie", ("udnie", 0.5)), ("udnie:1", ("udnie", 1.0))],
)
def test_a_mix_is_written_as_a_style_and_its_share(text, meaning):
    assert parse_mix(text) == meaning


@pytest.mark.parametrize(
    "text", ["", ":0.4", "udnie:", "udnie:2", "udnie:-1", "udnie:nan", "a:b:c"]
)
def test_another_writing_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"udnie:0\.4"):
        parse_mix(text)


@pytest.mark.parametrize("lite", [False, True], ids=["full", "lite"])
@pytest.mark.parametrize("amount", [0.0, 0.25, 1.0])
def test_every_weight_is_in_between(weights, library, lite, amount):
    weights.choose(EngineConfig("first", mix="second", mix_amount=amount))
    active = weights.active(lite=lite)
    first, second = (
        load_checkpoint(style.lite if lite and style.lite else style.weights)
        for style in (library.get("first"), library.get("second"))
    )
    for key, value in active.state.items():
        expected = (1 - amount) * first[key] + amount * second[key]
        torch.testing.assert_close(value, expected, atol=1e-6, rtol=0)
    assert active.network == (LITE if lite else FULL)


def test_a_mix_is_computed_only_when_it_changes(weights):
    config = EngineConfig("first", mix="second", mix_amount=0.3)
    weights.choose(config)
    before = weights.active(lite=False)
    weights.choose(EngineConfig("first", mix="second", mix_amount=0.3, strength=0.2))
    again = weights.active(lite=False)
    assert again.key == before.key
    assert again.state is before.state
    weights.choose(EngineConfig("first", mix="second", mix_amount=0.4))
    assert weights.active(lite=False).key != before.key


def test_a_style_mixed_with_itself_is_the_style(weights):
    weights.choose(EngineConfig("first", mix="first", mix_amount=0.3))
    alone = weights.active(lite=False)
    weights.choose(EngineConfig("first"))
    assert alone.key == weights.active(lite=False).key
    assert alone.label == "First"


def test_networks_that_differ_are_not_mixed_and_the_choice_before_stays(weights):
    weights.choose(EngineConfig("first"))
    complaint = r"First and Short cannot be mixed.*2 residual blocks.*1 residual block,"
    with pytest.raises(StyleError, match=complaint):
        weights.choose(EngineConfig("first", mix="short"))
    assert weights.active(lite=False).label == "First"


def test_a_style_without_a_lite_network_says_so(weights):
    weights.choose(EngineConfig("first", mix="plain"))
    assert weights.lite_unavailable_reason == "Plain has no lite network"
    weights.choose(EngineConfig("first", mix="second"))
    assert weights.lite_unavailable_reason == ""


def test_an_evicted_style_is_used_until_the_next_choice_and_read_again_then(weights):
    config = EngineConfig("first", mix="second")
    weights.choose(config)
    before = weights.active(lite=False)
    numbers = [value.clone() for value in before.state.values()]
    weights.evict("second")
    kept = weights.active(lite=False)
    for value, number in zip(kept.state.values(), numbers, strict=True):
        np.testing.assert_array_equal(value, number)
    weights.choose(config)
    assert weights.active(lite=False).key != before.key
