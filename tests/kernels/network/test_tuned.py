"""Tuned layers are used only with the sources, the card and the test that they were tuned with."""

from __future__ import annotations

import ctypes
import json
import sys
from contextlib import nullcontext
from ctypes import c_void_p
from dataclasses import replace
from typing import Any

import pytest
import torch

from kernels.driver.driver import Driver
from kernels.jit.errors import BuildError, Damaged
from kernels.network import abi, launchers, tuned
from kernels.network.gpu import Gpu
from kernels.network.launchers import Network, tuned_network
from kernels.network.shapes import LITE
from kernels.network.sm80 import Sm80Plan
from kernels.network.tuned import for_card, forget, merged, path_of, read, set_verdict, verdict
from kernels.self_test.network import random_weights
from tests.kernels.driver.standins import write_images
from tests.kernels.network.tunings import CAPABILITY, CARD, DIGEST, layer, stored, tuning

SIZES = [(512, 512), (1280, 720), (1920, 1080)]


@pytest.fixture
def images(description, tmp_path):
    return replace(write_images("network", description, tmp_path), digest=DIGEST)


@pytest.fixture
def on_the_card(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: CARD)


def test_what_is_stored_is_read_again(description):
    found = stored(layer(description), layer(description, "first"))
    assert read(CARD) == found
    assert str(found) == "tuned for this card on 2026-01-02: lite at 512x512: down1, first"


def test_nothing_is_read_of_a_card_that_was_never_tuned(images):
    assert read(CARD) is None
    assert for_card(images, CARD, CAPABILITY) == (images, "")


def test_what_is_stored_takes_the_place_of_what_was(description):
    stored(layer(description))
    before = {path.name for path in tuned.tuned_folder().iterdir()}
    stored(layer(description, "first"), images=())
    after = {path.name for path in tuned.tuned_folder().iterdir()}
    assert len(before) == 2
    assert after == {path_of(CARD).name}


def test_layers_that_passed_the_test_join_the_librarys(images, description):
    stored(layer(description))
    set_verdict(CARD, "")
    joined, said = for_card(images, CARD, CAPABILITY)
    assert said == "tuned for this card on 2026-01-02: lite at 512x512: down1"
    told = abi.parse(joined.description)
    assert told.sm80.networks == abi.parse(images.description).sm80.networks
    assert len(told.sm80.tuned) == len(SIZES)


REFUSED = [
    (
        {"digest": "other"},
        "the kernels' sources have changed since; `styleforge tune` tunes them again",
    ),
    ({"capability": (8, 6)}, "they were tuned on NVIDIA Test 4000, compute capability 8.6"),
    ({"card": "Other"}, "they were tuned on Other, compute capability 9.0"),
]


@pytest.mark.parametrize(("changes", "reason"), REFUSED, ids=[next(iter(c)) for c, _ in REFUSED])
def test_layers_of_other_sources_or_cards_are_not_used_and_the_reason_is_told(
    changes, reason, images, description
):
    found = tuning(layer(description), **changes)
    tuned.store(replace(found, card=CARD), dict.fromkeys(found.kernels, b"image\0"))
    told = json.loads(path_of(CARD).read_text())
    path_of(CARD).write_text(json.dumps({**told, "card": found.card}))
    set_verdict(CARD, "")
    same, said = for_card(images, CARD, CAPABILITY)
    assert same is images
    assert said == f"layers tuned for this card on 2026-01-02 are not used: {reason}"


def test_images_for_another_architecture_are_not_used(images, description):
    found = tuning(layer(description))
    other = tuple(replace(image, architecture="sm_86") for image in found.images)
    stored(layer(description), images=other)
    set_verdict(CARD, "")
    assert for_card(images, CARD, CAPABILITY)[1].endswith(
        "their images were built for another architecture; `styleforge tune` tunes them again"
    )


def test_layers_that_were_not_tested_are_not_used(images, description):
    stored(layer(description))
    same, said = for_card(images, CARD, CAPABILITY)
    assert same is images
    assert said.endswith("are not used: they have not passed the self-test on this machine")


def test_layers_that_failed_the_test_are_not_used_and_the_reason_is_told(images, description):
    stored(layer(description))
    set_verdict(CARD, "self-test failed: it is right to 3 dB only")
    assert for_card(images, CARD, CAPABILITY)[1].endswith("is right to 3 dB only")


def test_a_verdict_is_of_the_file_that_was_tested(description):
    stored(layer(description))
    set_verdict(CARD, "")
    assert verdict(CARD) == ""
    stored(layer(description, "first"))
    assert verdict(CARD) == tuned.NOT_TESTED


DAMAGES: list[Any] = [
    "{",
    "[]",
    '{"card": 3}',
    lambda told: told["layers"][0].pop("traits"),
    lambda told: told["layers"][0].update(network="huge"),
    lambda told: told["layers"][0].update(role="middle"),
    lambda told: told["images"][0].update(file="../../elsewhere.xz"),
    lambda told: told["images"].clear(),
    lambda told: told.update(capability="9"),
]


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_file_is_one_sentence_that_names_it(damage, images, description):
    stored(layer(description))
    path = path_of(CARD)
    if callable(damage):
        told = json.loads(path.read_text())
        damage(told)
        damage = json.dumps(told)
    path.write_text(damage)
    with pytest.raises(Damaged, match=r"^the tuned layers in .*nvidia-test-4000\.json are damaged"):
        read(CARD)
    same, said = for_card(images, CARD, CAPABILITY)
    assert same is images
    assert said.startswith(f"layers tuned for this card are not used: the tuned layers in {path}")


@pytest.mark.parametrize(
    "change",
    [{"tile_h": "8"}, {"tile_h": 0}, {"extra": 1}, {"kernels": {}}, {"kernels": {"fp16": "a"}}],
    ids=str,
)
def test_a_layer_that_the_library_does_not_describe_so_is_damaged(change, images, description):
    stored(layer(description))
    told = json.loads(path_of(CARD).read_text())
    told["layers"][0]["described"].update(change)
    path_of(CARD).write_text(json.dumps(told))
    set_verdict(CARD, "")
    same, said = for_card(images, CARD, CAPABILITY)
    assert same is images
    assert "the description of a tuned layer does not fit this library" in said


def test_a_layer_whose_kernels_no_image_has_is_damaged(images, description):
    one = layer(description)
    found = tuning(one)
    with pytest.raises(Damaged, match=r"^the images lack the kernels of a tuned layer"):
        merged(images, replace(found, kernels={one.traits: {}}))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
def test_what_others_can_write_to_is_not_used(images, description):
    stored(layer(description))
    set_verdict(CARD, "")
    path_of(CARD).chmod(0o666)
    same, said = for_card(images, CARD, CAPABILITY)
    assert same is images
    assert "every user can write to it" in said


def test_forgetting_leaves_nothing_and_tells_whether_there_was_anything(images, description):
    stored(layer(description))
    set_verdict(CARD, "")
    assert forget(CARD)
    assert list(tuned.tuned_folder().iterdir()) == []
    assert for_card(images, CARD, CAPABILITY) == (images, "")
    assert not forget(CARD)


def test_pictures_are_styled_by_the_layers_that_were_tuned_for_the_nearest_size(
    images, description
):
    rows = [layer(description, size=size) for size in SIZES[:2]]
    told = abi.parse(merged(images, tuning(*rows)).description).sm80

    def tuned_for(*shape: int) -> int:
        found = told.layers("lite", shape, small=False)  # type: ignore[arg-type]
        name = found.convs["down1"].kernels["fp16"]["plain"]
        return next((width for width, _ in SIZES if f" {width}>" in name), 0)

    assert [tuned_for(1, 512, 512), tuned_for(1, 37, 54), tuned_for(1, 700, 512)] == [512] * 3
    assert [tuned_for(1, 720, 1280), tuned_for(4, 512, 512), tuned_for(1, 900, 900)] == [1280] * 3
    assert tuned_for(1, 1080, 1920) == 0, "the library's own was not beaten"
    assert told.layers("full", (1, 512, 512), small=False) is told.networks["full"]
    assert told.layers("lite", (1, 512, 512), small=True) is told.networks["lite"]


def test_a_plan_launches_the_tuned_layers_and_the_librarys_others(
    images, description, stub_path, stub, tmp_path, monkeypatch, on_the_card
):
    stored(layer(description), layer(description, "same"), layer(description, "first"))
    set_verdict(CARD, "")
    monkeypatch.setattr(torch.cuda, "device", lambda _device: nullcontext())
    monkeypatch.setattr(Gpu, "of", lambda _device: Gpu((9, 0), 232_448, 233_472, 132))
    network = tuned_network(images, tmp_path, CAPABILITY, 0, Driver(str(stub_path)))
    assert network.tuning.endswith("lite at 512x512: down1, same, first")
    assert launched(network, stub, (1, 512, 512)) == [
        "first_layer<__half,unsignedchar,styleforge::sm80::Traits<first,512>>",
        "conv3x3<__half,styleforge::sm80::Traits<down1,512>,false>",
        "conv3x3<__half,styleforge::sm80::LiteLayers<styleforge::sm80::In16Bits>::Down2,false>",
        *["conv3x3<__half,styleforge::sm80::Traits<same,512>,false>"] * 2,
        "conv3x3<__half,styleforge::sm80::LiteLayers<styleforge::sm80::In16Bits>::Up1,true>",
        "conv3x3<__half,styleforge::sm80::LiteLayers<styleforge::sm80::In16Bits>::Up2,false>",
        "last_layer<__half,unsignedchar,styleforge::sm80::LiteLayers<styleforge::sm80::In16Bits>::Last>",
    ]
    assert not any("Traits" in name for name in launched(network, stub, (1, 1080, 1920)))


def launched(network: Network, stub: ctypes.CDLL, shape: tuple[int, int, int]) -> list[str]:
    one_block = replace(LITE, num_residual_blocks=1)
    weights = random_weights(one_block, torch.Generator().manual_seed(0))
    with torch.inference_mode():
        plan = Sm80Plan(weights, one_block, shape, torch.float16, torch.device("cpu"), network)
    stub.stub_take()
    for step in plan.steps():
        step(c_void_p(), True)
    lines = stub.stub_take().decode().splitlines()
    return [line.split(" ")[0].removeprefix("styleforge::sm80::") for line in lines]


def test_an_image_that_does_not_load_leaves_the_library_in_use(
    images, description, stub_path, tmp_path, on_the_card
):
    found = stored(layer(description))
    set_verdict(CARD, "")
    (tuned.tuned_folder() / found.images[0].file).write_bytes(b"other")
    network = tuned_network(images, tmp_path, CAPABILITY, 0, Driver(str(stub_path)))
    assert network.abi.sm80.tuned == ()
    assert network.tuning.startswith("layers tuned for this card are not used: the image ")
    assert network.tuning.endswith("is truncated or damaged")


def test_a_library_that_does_not_load_is_an_error_of_its_own(
    images, stub_path, tmp_path, on_the_card
):
    with pytest.raises(BuildError, match=r"compute capability 7\.0"):
        launchers.tuned_network(images, tmp_path, (7, 0), 0, Driver(str(stub_path)))
