"""A style's weights are transformed once, for all networks and mixes that use it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from contextlib import suppress
from dataclasses import asdict
from weakref import WeakValueDictionary, ref

import pytest
import torch
from torch import Tensor

from app.engine.post.blending import peak_difference
from kernels.network.cpu.launchers import CpuNetwork
from models.inference import style_state
from models.inference.style_state import MixedState, StyleState
from models.network_config import NetworkConfig
from models.transformer_net import TransformerNetBaseline, TransformerNetFused

pytestmark = pytest.mark.usefixtures("native_kernels")
SHAPE = NetworkConfig(1, (16, 16, 32), 5)
NATIVE = 7  # convolutions that CpuNetwork.transformed transforms: all except the last
MEGABYTE = 1 << 20


def weights(seed: int) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    state = TransformerNetBaseline(**asdict(SHAPE)).state_dict()
    state["deconv3.conv2d.weight"] *= 100
    state["deconv3.conv2d.bias"] += 120
    return state


def network() -> TransformerNetFused:
    return TransformerNetFused(**asdict(SHAPE)).requires_grad_(False).eval()


def paint(net: TransformerNetFused, state: StyleState | MixedState | None = None) -> Tensor:
    """Load a state if one is given, and return a picture."""
    if state is not None:
        net.load_state(state)
    x = torch.rand(1, 3, 40, 48, generator=torch.Generator().manual_seed(0)) * 255
    with torch.inference_mode():
        return net(x)


def transformed_itself(state: dict[str, Tensor]) -> Tensor:
    """Return the picture of a network that shares nothing."""
    net = network()
    net.load_state_dict(state)
    return paint(net)


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


def test_a_style_paints_the_same_bits_with_shared_transforms():
    state = StyleState(weights(1))
    assert torch.equal(paint(network(), state), transformed_itself(state))


def test_a_style_is_transformed_once_for_two_networks(transforms):
    state, nets = StyleState(weights(1)), (network(), network())
    first, second = (paint(net, state) for net in nets)
    assert len(transforms) == NATIVE
    assert torch.equal(first, second)


def test_a_style_that_comes_back_is_not_transformed_again(transforms):
    one, other, net = StyleState(weights(1)), StyleState(weights(2)), network()
    before = paint(net, one)
    assert not torch.equal(paint(net, other), before)
    assert torch.equal(paint(net, one), before)
    assert len(transforms) == 2 * NATIVE


def test_two_threads_that_need_a_style_transform_it_once():
    state = StyleState({"a": torch.ones(1, 1, 3, 3)})
    meeting, made, results = threading.Barrier(2), list[int](), list[Tensor]()

    def make(weight: Tensor) -> Tensor:
        made.append(1)
        with suppress(threading.BrokenBarrierError):
            meeting.wait(0.2)  # for another thread that transforms it, too
        return weight * 2

    threads = [
        threading.Thread(target=lambda: results.append(state.transform("a", make)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert results[0] is results[1]


@pytest.mark.parametrize("shares", [(0.6, 0.4), (0.5, 0.3, 0.2)], ids=["two", "three"])
def test_a_mix_differs_from_transforming_it_by_rounding(shares):
    mix = MixedState([StyleState(weights(seed)) for seed in range(len(shares))])
    mix.mix(shares)
    found, wanted = paint(network(), mix), transformed_itself(mix)
    assert not torch.equal(found, wanted), "the transforms were interpolated"
    assert peak_difference(found.double(), wanted.double())[1] > 120


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_mix_of_one_style_alone_has_its_bits(share):
    first, second = StyleState(weights(1)), StyleState(weights(2))
    mix = MixedState([first, second])
    mix.mix((1 - share, share))
    assert torch.equal(paint(network(), mix), transformed_itself(second if share else first))


@pytest.mark.parametrize("inference", [False, True])
def test_another_share_transforms_and_allocates_nothing(transforms, inference):
    states, net = [StyleState(weights(seed)) for seed in (1, 2)], network()
    pictures, addresses = [], []
    with torch.inference_mode(inference):
        mix = MixedState(states)
    for share in (0.2, 0.7, 0.2):
        with torch.inference_mode(inference):
            mix.mix((1 - share, share))
        pictures.append(paint(net, mix))
        addresses.append({name: made.data_ptr() for name, made in mix._mixed.items()})
    assert len(transforms) == 2 * NATIVE
    assert addresses[0] == addresses[1] == addresses[2]
    assert torch.equal(pictures[0], pictures[2])
    assert not torch.equal(pictures[0], pictures[1])


def test_another_share_is_painted_with_its_own_transforms():
    mix, net = MixedState([StyleState(weights(seed)) for seed in (1, 2)]), network()
    for share in (0.2, 0.7):
        mix.mix((1 - share, share))
        found, wanted = paint(net, mix), transformed_itself(mix)
        assert peak_difference(found.double(), wanted.double())[1] > 120


@pytest.mark.parametrize("inference", [False, True])
def test_a_network_with_an_older_share_keeps_painting_it(inference):
    mix, net = MixedState([StyleState(weights(seed)) for seed in (1, 2)]), network()
    mix.mix((0.8, 0.2))
    net.load_state(mix)
    older = {key: value.clone() for key, value in net.state_dict().items()}
    with torch.inference_mode(inference):
        mix.mix((0.3, 0.7))
    paint(network(), mix)
    assert torch.equal(paint(net), transformed_itself(older))


def changed(net: TransformerNetFused, state: StyleState, how: str) -> None:
    with torch.no_grad():
        if how == "in place":
            net.get_parameter("res1.conv1.conv2d.weight").mul_(1.5)
        elif how == "load_state_dict":
            net.load_state_dict(weights(7))
        elif how == "assigned":
            net.load_state_dict(weights(7), assign=True)
        elif how == "there and back":
            net.to(torch.bfloat16).to(torch.float32)
        elif how == "the state":
            state["res1.conv1.conv2d.weight"].mul_(1.5)
        elif how == "the state, loaded again":
            state["res1.conv1.conv2d.weight"].mul_(1.5)
            net.load_state(state)


@pytest.mark.parametrize("painted", [False, True], ids=["before a picture", "after a picture"])
@pytest.mark.parametrize(
    "how",
    [
        *("in place", "load_state_dict", "assigned", "there and back"),
        *("the state", "the state, loaded again"),
    ],
)
def test_a_change_of_the_weights_is_painted(how, painted):
    net, state = network(), StyleState(weights(1))
    net.load_state(state)
    if painted:
        paint(net)
    changed(net, state, how)
    assert torch.equal(paint(net), transformed_itself(net.state_dict()))


def test_states_that_were_made_in_inference_mode_are_followed():
    with torch.inference_mode():
        state = StyleState({key: value + 0.0 for key, value in weights(1).items()})
    net = network()
    before = paint(net, state)
    assert torch.equal(before, transformed_itself(state))
    with torch.inference_mode():
        state["res1.conv1.conv2d.weight"].mul_(1.5)
    assert not torch.equal(paint(net, state), before)
    assert torch.equal(paint(net), transformed_itself(state))


def kept(state: StyleState) -> bool:
    return state._prepared.nbytes > 0


def transform(state: StyleState) -> None:
    state.transform("a", lambda _: torch.zeros(MEGABYTE // 4))


@pytest.fixture
def three(monkeypatch) -> list[StyleState]:
    """Return three states whose transforms have a megabyte, of which two fit."""
    gc.collect()
    monkeypatch.setattr(style_state, "_states", WeakValueDictionary())
    monkeypatch.setattr(style_state, "MOST_BYTES", 2 * MEGABYTE)
    return [StyleState({"a": torch.full((1,), float(n))}) for n in range(3)]


def test_the_styles_used_last_keep_their_transforms(three):
    for state in three:
        transform(state)
    assert list(map(kept, three)) == [False, True, True]


def test_a_style_that_is_painted_counts_as_used(three):
    for state in three[:2]:
        transform(state)
    three[0].touch()
    transform(three[2])
    assert list(map(kept, three)) == [True, False, True]


def test_a_mix_counts_as_a_use_of_its_styles(three):
    mix = MixedState(three[:1])
    for state in three[:2]:
        transform(state)
    mix.touch()
    transform(three[2])
    assert list(map(kept, three)) == [True, False, True]


def test_painting_counts_as_a_use():
    states, net = [StyleState(weights(seed)) for seed in (1, 2)], network()
    paint(net, states[0])
    paint(network(), states[1])
    assert list(style_state._states.values())[-1] is states[1]
    paint(net)
    assert list(style_state._states.values())[-1] is states[0]


def test_a_network_keeps_the_transforms_that_its_style_drops(monkeypatch, transforms):
    monkeypatch.setattr(style_state, "MOST_BYTES", 0)
    first, second, net = StyleState(weights(1)), StyleState(weights(2)), network()
    before = paint(net, first)
    paint(network(), second)
    assert (kept(first), kept(second)) == (False, True)
    assert torch.equal(paint(net), before)
    assert len(transforms) == 2 * NATIVE


def test_a_style_that_nothing_uses_is_freed():
    state, net = StyleState(weights(1)), network()
    gone = ref(state)
    paint(net, state)
    net.load_state(StyleState(weights(2)))
    del state
    gc.collect()
    assert gone() is None


def test_equal_weights_that_are_read_twice_are_one_state():
    first = StyleState.shared(weights(1))
    assert StyleState.shared(weights(1)) is first
    assert StyleState.shared(weights(2)) is not first


def test_weights_that_differ_in_a_bit_are_two_states():
    first, second = weights(1), weights(1)
    for state, zero in ((first, 0.0), (second, -0.0)):
        state["conv1.conv2d.bias"][0] = zero
    held = StyleState.shared(first)
    assert StyleState.shared(second) is not held
    held["conv1.conv2d.bias"][1] += 1
    assert StyleState.shared({key: value.clone() for key, value in first.items()}) is held
    assert StyleState.shared(weights(1)) is not held


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_copy_of_a_network_is_independent(copied):
    net, state = network(), StyleState(weights(1))
    before = paint(net, state)
    twin = copied(net)
    net.load_state(StyleState(weights(2)))
    assert torch.equal(paint(twin), before)
    assert not torch.equal(paint(net), before)


def test_a_copy_of_a_state_is_a_plain_dict():
    state = StyleState(weights(1))
    for twin in (copy.deepcopy(state), pickle.loads(pickle.dumps(state)), copy.copy(state)):
        assert type(twin) is dict
        assert twin.keys() == state.keys()


def test_a_network_has_one_copy_of_the_transforms():
    net, state = network(), StyleState(weights(1))
    net.load_state_dict(weights(2))
    paint(net)
    assert net._winograd._prepared.nbytes > 0
    paint(net, state)
    assert net._winograd._prepared.nbytes == 0
    assert kept(state)
