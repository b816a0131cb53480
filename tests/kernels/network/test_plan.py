"""A plan launches the layers in order, whole, by groups and one by one, under their names."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.network import dispatch
from kernels.network import sm90_layout as layout
from kernels.network.dispatch import Gpu
from kernels.network.shapes import FULL
from kernels.network.sm90 import Sm90Plan, layers_apart
from models.transformer_net import TransformerNetBaseline

GPUS = {
    "sm90": Gpu((9, 0), 232_448, 233_472, 2),  # fewer multiprocessors than tiles
    "sm90, joined": Gpu((9, 0), 232_448, 233_472, 132),
    "sm80": Gpu((8, 0), 166_912, 167_936, 108),
    "sm75": Gpu((7, 5), 65_536, 65_536, 40),
}
ENCODER = tuple(f"encoder/conv{number}" for number in (1, 2, 3))
BLOCKS = tuple(f"residual blocks/res{block}.conv{number}" for block in (1, 2) for number in (1, 2))
DECODER = tuple(f"decoder/deconv{number}" for number in (1, 2, 3))
APART, JOINED = (*ENCODER, *BLOCKS, *DECODER), (*ENCODER, "residual blocks/res1-res2", *DECODER)


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    return TransformerNetBaseline(2).requires_grad_(False).state_dict()


@pytest.fixture
def launched() -> list[tuple[str, int]]:
    """Return a list for each launch's launcher and the address of its parameters."""
    return []


@pytest.fixture(params=GPUS)
def way(request) -> str:
    """Return a backend, and whether its residual layers are joined."""
    return request.param


@pytest.fixture
def layers(way) -> tuple[str, ...]:
    return JOINED if way.endswith("joined") else APART


@pytest.fixture
def plan(way, weights, described, launched, monkeypatch):
    """Return a plan on a GPU that launches nothing; a graph resubmits its captured launches."""
    captured: list[object] = []

    def launcher(name: str):
        def launch(*arguments) -> int:
            params = next(each for each in arguments if hasattr(each, "_fields_"))
            launched.append((name, id(params)))
            return 0

        return launch

    ways = itertools.product(("sm80", "sm90"), ("first", "conv", "residual", "last"))
    names = [f"styleforge_{backend}_{layer}" for backend, layer in ways]
    library: Any = SimpleNamespace(
        abi=described,
        sources={source for backend in dispatch.BACKENDS for source in backend.sources},
        **{name: launcher(name) for name in names},
    )

    class Graph:
        def replay(self) -> None:
            launched.extend(self.held)

        def __init__(self) -> None:
            self.held: list[tuple[str, int]] = []

    @contextlib.contextmanager
    def capture(graph: Graph, **_):
        before = len(launched)
        yield
        graph.held = launched[before:]
        del launched[before:]
        captured.append(graph)

    monkeypatch.setattr(Gpu, "of", lambda _device: GPUS[way])
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    monkeypatch.setattr(torch.cuda, "device", lambda _device: contextlib.nullcontext())
    # forgets the launches that load the kernels
    monkeypatch.setattr(torch.cuda, "synchronize", launched.clear)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    network, device = replace(FULL, num_residual_blocks=2), torch.device("cpu")
    return dispatch.plan_for(
        weights, network, (1, 64, 96), torch.float16, device, library, backend=way.split(",")[0]
    )


def replayed(plan, launched, *, marked: bool) -> tuple[list[tuple[str, int]], list[str]]:
    """Return the launches and the marks of one frame, each in order."""
    marks: list[str] = []
    mark = marks.append if marked else None
    plan.replay(mark)  # captures
    launched.clear()
    marks.clear()
    plan.replay(mark)
    return list(launched), marks


def test_a_layer_is_one_launch_and_joined_layers_are_one(plan, layers):
    assert plan.layers == layers
    assert plan.groups == ("encoder", "residual blocks", "decoder")
    assert len(plan.steps()) == len(layers)


def test_a_layer_is_named_as_in_the_state_dict(weights):
    names = {name.removesuffix(".conv2d.weight") for name in weights if "conv2d.weight" in name}
    assert {layer.split("/")[1] for layer in APART} == names


@pytest.mark.parametrize("way", ["sm90, joined"], indirect=True)
def test_joined_layers_have_the_weights_that_each_would_have(plan, weights, described):
    precision = described.sm90.precisions["fp16"]
    order, conv = described.sm90.weight_order, precision.convs["same"]
    packed = [
        layout.layer_weight(weights[f"{name.split('/')[1]}.conv2d.weight"], conv, precision, order)
        for name in BLOCKS
    ]
    stacked = next(
        tensor for tensor in plan._kept if tensor.shape == (len(BLOCKS), packed[0].numel())
    )
    assert torch.equal(stacked, torch.stack([each.flatten() for each in packed]))


def test_however_a_frame_is_timed_the_same_layers_are_launched_in_order(plan, layers, launched):
    whole, unmarked = replayed(plan, launched, marked=False)
    assert len(whole) == len(layers) == len(set(whole))
    assert unmarked == []
    assert replayed(plan, launched, marked=True) == (whole, list(plan.groups))
    plan.time_layers(True)
    assert replayed(plan, launched, marked=True) == (whole, list(layers))
    assert replayed(plan, launched, marked=False) == (whole, [])
    plan.time_layers(False)
    assert replayed(plan, launched, marked=True) == (whole, list(plan.groups))


def test_a_mark_follows_the_launch_of_its_layer(plan, layers, launched):
    plan.time_layers(True)
    plan.replay(lambda _layer: None)
    launched.clear()
    counts: list[int] = []
    plan.replay(lambda _layer: counts.append(len(launched)))
    assert counts == list(range(1, len(layers) + 1))


def test_layers_are_apart_while_they_are_measured(weights, described, monkeypatch):
    monkeypatch.setattr(Gpu, "of", lambda _device: GPUS["sm90, joined"])
    monkeypatch.setattr(torch.cuda, "device", lambda _device: contextlib.nullcontext())
    launchers = {
        f"styleforge_sm90_{layer}": None for layer in ("first", "conv", "residual", "last")
    }
    library: Any = SimpleNamespace(abi=described, **launchers)
    network = replace(FULL, num_residual_blocks=2)

    def made() -> tuple[str, ...]:
        arguments = weights, network, (1, 64, 96), torch.float16, torch.device("cpu"), library
        return Sm90Plan(*arguments).layers

    with layers_apart():
        assert made() == APART
    assert made() == JOINED


def test_graphs_that_are_not_replayed_any_more_are_freed(plan, layers, launched):
    plan.replay()
    whole = plan.graph()
    plan.time_layers(True)
    plan.replay(lambda _layer: None)
    assert len(plan._graphs) == 1 + len(layers)
    plan.time_layers(True)
    assert len(plan._graphs) == 1 + len(layers), "nothing has changed"
    plan.time_layers(False)
    assert list(plan._graphs.values()) == [whole]
