"""The native network's layers serve another network: in order, with separately set styles."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.network import dispatch
from kernels.network.ends import LAST, RESIDUAL, STEM, STYLED, Ends, ends_for
from kernels.network.gpu import Gpu
from kernels.network.shapes import NetworkShape
from kernels.ops.transformer.channel_norm.api import MOST_GROUPS
from models.inference.vit.native_plan import end_weights
from models.inference.vit.weights import prepare
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer

CPU = torch.device("cpu")
GPUS = {
    "sm90": Gpu((9, 0), 232_448, 233_472, 2),  # fewer multiprocessors than tiles
    "sm90, joined": Gpu((9, 0), 232_448, 233_472, 132),
    "sm80": Gpu((8, 0), 166_912, 167_936, 108),
    "sm75": Gpu((7, 5), 65_536, 65_536, 40),
}
CONFIG = VitConfig(32, 2, 48, 1, 1, 16)
SHAPE = 2, 57, 90


@pytest.fixture
def launched() -> list[tuple[str, bool]]:
    """Return a list for each launch's layer kind, and whether it reads or writes bytes."""
    return []


@pytest.fixture(params=GPUS)
def way(request) -> str:
    return request.param


@pytest.fixture
def ends(way, described, launched, monkeypatch) -> Ends:
    def launcher(kind: str, in_bytes: int | None):
        def launch(*arguments) -> int:
            launched.append((kind, in_bytes is not None and bool(arguments[in_bytes])))
            return 0

        return launch

    places = {"sm80": 3, "sm90": 1}  # position of the argument for bytes
    kinds = itertools.product(("sm80", "sm90"), ("first", "conv", "residual", "last"))
    library: Any = SimpleNamespace(
        abi=described,
        sources={source for backend in dispatch.BACKENDS for source in backend.sources},
        **{
            f"styleforge_{backend}_{kind}": launcher(
                kind, places[backend] if kind in ("first", "last") else None
            )
            for backend, kind in kinds
        },
    )
    monkeypatch.setattr(Gpu, "of", lambda _device: GPUS[way])
    monkeypatch.setattr(torch.cuda, "device", lambda _device: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))
    torch.manual_seed(0)
    state = StyleForgeTransformer(CONFIG).requires_grad_(False).state_dict()
    weights = end_weights(prepare(state, CONFIG, torch.float16, CPU))
    shape = NetworkShape(CONFIG.widths, 9, 1)
    return ends_for(weights, shape, SHAPE, torch.float16, CPU, library)


def test_buffers_have_the_size_of_a_picture_padded_to_multiples_of_8(ends):
    assert ends.frames.shape == ends.pictures.shape == (2, 57, 90, 3)
    assert ends.large.shape == (2, 64, 96, 32)
    assert ends.half.shape == (2, 32, 48, 64)
    for buffer in (ends.quarter, ends.joined, ends.activated, ends.added):
        assert buffer.shape == (2, 16, 24, 128)


@pytest.mark.parametrize("in_bytes", [False, True])
def test_groups_of_layers_are_launched_one_by_one(ends, way, launched, in_bytes):
    ends.submit(STEM, in_bytes)
    assert launched == [("first", in_bytes), ("conv", False), ("conv", False)]
    launched.clear()
    ends.submit(RESIDUAL, in_bytes)
    joined = way == "sm90, joined"
    assert [kind for kind, _ in launched] == (["residual"] if joined else ["conv", "conv"])
    launched.clear()
    ends.submit(LAST, in_bytes)
    assert launched == [("last", in_bytes)]


def test_styles_are_set_without_packing_weights_again(ends):
    before = {id(each): each.clone() for each in ends._kept}
    channels = {"in5": 32}
    styles = {
        f"{name}.{part}": torch.full((channels.get(name, 128),), value)
        for name in STYLED
        for part, value in (("weight", 3.5), ("bias", -2.5))
    }
    ends.set_styles(styles)
    changed = [each for each in ends._kept if not torch.equal(each, before[id(each)])]
    assert {each.numel() for each in changed} == {32, 128}
    for each in changed:
        assert set(each.unique().tolist()) <= {3.5, -2.5}
    addresses = {each.data_ptr(): each for each in ends._kept}
    for name in ("joined", "in5"):
        norm = ends._norms[name]
        assert addresses[norm.gamma].unique().tolist() == [3.5]
        assert addresses[norm.beta].unique().tolist() == [-2.5]


def test_weights_alone_leave_the_styles_as_they_are(ends):
    styles = {
        f"{name}.{part}": torch.ones(32 if name == "in5" else 128)
        for name in STYLED
        for part in ("weight", "bias")
    }
    ends.set_styles(styles)
    torch.manual_seed(1)
    state = StyleForgeTransformer(CONFIG).requires_grad_(False).state_dict()
    ends.set_weights(end_weights(prepare(state, CONFIG, torch.float16, CPU)))
    addresses = {each.data_ptr(): each for each in ends._kept}
    assert addresses[ends._norms["in5"].gamma].unique().tolist() == [1.0]


def test_moments_are_where_the_layers_leave_them(ends):
    for norm, buffer in (("in2", ends.half), ("in3", ends.quarter), ("res1.in2", ends.added)):
        moments = ends.moments(norm)
        assert moments.shape[::2] == (SHAPE[0], buffer.shape[-1])
        assert moments.shape[1] <= MOST_GROUPS
        told = ends._norms[norm]
        assert (told.groups, told.count) == (moments.data_ptr(), moments.shape[1])


def test_measured_statistics_are_those_of_one_value_with_mean_and_variance(ends):
    x = torch.randn(ends.large.shape, generator=torch.Generator().manual_seed(0))
    ends.large.copy_(x * 3 + 5)
    ends.measure("in5", ends.large)
    count, mean, squares, _ = ends._measured["in5"][:, 0].unbind(-1)
    values = ends.large.double().flatten(1, 2)
    assert set(count.unique().tolist()) == {1}
    torch.testing.assert_close(mean.double(), values.mean(1), atol=1e-4, rtol=1e-5)
    wanted = values.var(1, correction=0)
    torch.testing.assert_close(squares.double(), wanted, atol=0, rtol=1e-4)
