"""Mixing interpolates the weights of two styles, and a refusal gives its reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.style_weights import StyleWeights
from app.options import (
    blend_label,
    format_parts,
    mixed_parts,
    parse_mix,
    parse_parts,
    percentages,
    without,
)
from app.styles.pack import StyleError
from models.checkpoints import load_checkpoint
from models.network_config import NetworkConfig
from tests.conftest import add_style
from tests.helpers.errors import mentions

FULL, LITE = NetworkConfig(2, (8, 8, 12), 5), NetworkConfig(1, (4, 4, 6), 3)


@pytest.fixture
def weights(catalog, tmp_path):
    add_style(tmp_path, "first", 1, FULL, lite=LITE)
    add_style(tmp_path, "second", 2, FULL, lite=LITE)
    add_style(tmp_path, "plain", 3, FULL)
    add_style(tmp_path, "short", 4, LITE)
    catalog.reload()
    return StyleWeights(catalog)


def test_a_mix_is_named_with_both_shares():
    assert blend_label([("Candy", 0.6), ("Starry Night", 0.4)]) == "Candy 60 %, Starry Night 40 %"
    assert blend_label([("Candy", 1.0)]) == "Candy"


@pytest.mark.parametrize(
    ("shares", "percents"),
    [
        ((1 / 3, 1 / 3, 1 / 3), [34, 33, 33]),
        ((0.005, 0.005, 0.99), [1, 0, 99]),
        ((0.0, 0.335, 0.335, 0.33), [0, 34, 33, 33]),
        ((1.0,), [100]),
    ],
)
def test_the_percents_of_a_mix_add_up_to_100(shares, percents):
    assert percentages(shares) == percents


@pytest.mark.parametrize(
    ("others", "shares"),
    [
        ([("b", None)], [0.5, 0.5]),
        ([("b", 0.4)], [0.6, 0.4]),
        ([("b", None), ("c", None)], [1 / 3, 1 / 3, 1 / 3]),
        ([("b", 0.3), ("c", None)], [0.35, 0.3, 0.35]),
        ([("b", 0.3), ("c", 0.7)], [0.0, 0.3, 0.7]),
    ],
)
def test_the_first_style_of_a_mix_gets_what_the_others_leave(others, shares):
    parts = mixed_parts("a", others)
    assert [key for key, _ in parts] == ["a", *(key for key, _ in others)]
    assert [share for _, share in parts] == pytest.approx(shares)


@pytest.mark.parametrize(
    ("others", "fault"),
    [
        ([("b", 0.6), ("c", 0.5)], r"at most 1, not 1\.1"),
        ([("b", 0.1)] * 4, "at most 4 styles can be mixed, not 5"),
        ([("b", 0.1), ("b", 0.2)], "'b' is in the mix twice"),
    ],
)
def test_what_is_no_mix_is_one_sentence(others, fault):
    with pytest.raises(ValueError, match=fault):
        mixed_parts("a", others)


def test_what_is_taken_out_of_a_mix_leaves_the_proportions():
    parts = (("a", 0.5), ("b", 0.25), ("c", 0.25))
    assert without(parts, "a") == (("b", 0.5), ("c", 0.5))
    assert without((("a", 1.0), ("b", 0.0)), "a") == (("b", 1.0),)
    assert without((("a", 1.0), ("b", 0.0), ("c", 0.0)), "a") == (("b", 0.5), ("c", 0.5))


def test_a_mix_survives_the_settings_file():
    parts = (("odd:name", 0.25), ("c", 0.5))
    assert parse_parts(format_parts(parts)) == parts
    assert parse_parts("nothing\n:0.5\nb:2\nc:nan\n\n") == ()


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("udnie:0.4", ("udnie", 0.4)), ("udnie", ("udnie", None)), ("udnie:1", ("udnie", 1.0))],
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
def test_every_weight_is_in_between(weights, catalog, lite, amount):
    weights.choose(EngineConfig("first", mix="second", mix_amount=amount))
    active = weights.active(lite=lite)
    first, second = (
        load_checkpoint(style.lite if lite and style.lite else style.weights)
        for style in (catalog.get("first"), catalog.get("second"))
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


def test_three_networks_of_their_own_are_mixed_and_a_fourth_is_refused(weights, catalog, tmp_path):
    for seed, key in enumerate(("third", "fourth"), 5):
        add_style(tmp_path, key, seed, FULL)
    catalog.reload()
    mixed = EngineConfig("first", mix="second", mix_amount=0.3, mix_more=(("third", 0.2),))
    weights.choose(mixed)
    alone = []
    for key in ("first", "second", "third"):
        weights.choose(EngineConfig(key))
        alone.append(weights.active(lite=False).state)
    weights.choose(mixed)
    for name, value in weights.active(lite=False).state.items():
        parts = zip((0.5, 0.3, 0.2), alone, strict=True)
        expected = sum(share * state[name].float() for share, state in parts)
        torch.testing.assert_close(value.float(), expected, atol=1e-3, rtol=1e-3)
    with pytest.raises(StyleError, match="4 styles cannot"):
        weights.choose(replace(mixed, mix_more=(("third", 0.2), ("fourth", 0.1))))


def test_networks_that_differ_are_not_mixed_and_the_choice_before_stays(weights):
    weights.choose(EngineConfig("first"))
    complaint = r"First and Short cannot be mixed.*2 residual blocks.*1 residual block,"
    with pytest.raises(StyleError, match=complaint):
        weights.choose(EngineConfig("first", mix="short"))
    assert weights.active(lite=False).label == "First"


def test_a_style_without_a_lite_network_says_so(weights):
    weights.choose(EngineConfig("first", mix="plain"))
    assert mentions(weights.lite_unavailable_reason, "Plain", "no lite network")
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


@pytest.mark.parametrize(
    "changed",
    [
        {"style": "second", "mix": None},
        {"mix": None},
        {"mix_amount": 0.7},
        {"mix": "plain"},
        {"mix_more": (("plain", 0.2),)},
    ],
    ids=["style", "no mix", "share", "mix", "third style"],
)
def test_frames_share_their_weights_until_another_choice(changed, weights):
    config = EngineConfig("first", mix="second", mix_amount=0.3, network="full")
    weights.choose(config)
    before = weights.active(lite=False)
    kept = {name: value.clone() for name, value in before.state.items()}
    assert weights.active(lite=False) is before
    weights.choose(replace(config, **changed))
    after = weights.active(lite=False)
    assert after.key != before.key
    assert after.label == weights.label != before.label
    assert any((after.state[name] != value).any() for name, value in kept.items())
    weights.choose(config)
    again = weights.active(lite=False)
    assert again.key == before.key
    assert all(torch.equal(again.state[name], value) for name, value in kept.items())


def test_the_weights_of_the_full_and_the_lite_network_are_kept_apart(weights):
    weights.choose(EngineConfig("first", mix="second"))
    for _ in range(2):
        assert weights.active(lite=False).network == FULL
        assert weights.active(lite=True).network == LITE


def test_the_automatic_texture_of_a_mix_lies_between_those_of_its_styles(weights, tmp_path):
    for key, amounts in (("first", (1.0, 0.5)), ("second", (0.5, 0.0))):
        spec = tmp_path / "styles" / key / "style.toml"
        added = "texture = {}\nstream_texture = {}\n".format(*amounts)
        spec.write_text(spec.read_text("utf-8") + added, "utf-8")
    weights._catalog.reload()
    config = EngineConfig(style="first")
    weights.choose(config)
    assert (weights.texture(moving=False), weights.texture(moving=True)) == (1.0, 0.5)
    weights.choose(replace(config, mix="second", mix_amount=0.6))
    assert weights.texture(moving=False) == pytest.approx(0.7)
    assert weights.texture(moving=True) == pytest.approx(0.2)


def test_a_mix_takes_the_direction_of_strokes_of_its_main_style(weights, tmp_path):
    for key, direction in (("first", '"follow"'), ("second", "30")):
        spec = tmp_path / "styles" / key / "style.toml"
        added = f"strokes_direction = {direction}\n"
        added += "stream_strokes_direction = 0\n" if key == "second" else ""
        spec.write_text(spec.read_text("utf-8") + added, "utf-8")
    weights._catalog.reload()
    for amount, still, moving in ((0.4, "follow", "follow"), (0.6, 30.0, 0.0)):
        weights.choose(EngineConfig("first", mix="second", mix_amount=amount))
        assert weights.strokes(moving=False) == (still, 0.5)
        assert weights.strokes(moving=True) == (moving, 0.5)
