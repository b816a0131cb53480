"""The plan of a network on a GPU: native in every precision, AMP as TF32. No GPU is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
import torch

from kernels.network import dispatch
from kernels.network.gpu import Gpu
from models.inference import cuda
from models.inference.cuda import PlanCache
from models.inference.layerwise_plan import LoadableNetwork
from models.network_config import FULL, LITE
from models.precision import int8_allowed

A100 = Gpu((8, 0), 166_912, 167_936, 108)
SHAPE = 1, 16, 16


@pytest.fixture
def asked(monkeypatch):
    """Return dtype and permission for TF32 and INT8 of each native plan that was created."""
    made: list[tuple[torch.dtype, bool, bool]] = []

    def plan_for(_weights, _network, _shape, dtype, _device, *, tf32, int8):
        made.append((dtype, tf32, int8))
        return SimpleNamespace()

    monkeypatch.setattr(Gpu, "of", lambda _device: A100)
    monkeypatch.setattr(dispatch.build, "reason", lambda _name: "not built yet")
    monkeypatch.setattr(dispatch, "plan_for", plan_for)
    monkeypatch.setattr(cuda, "use_native", lambda _name: True)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    return made


def plan(network, dtype=torch.float32):
    cache = PlanCache(lambda *_: pytest.fail("not native"))
    with torch.no_grad():
        return cache.plan(network, dict, dtype, SHAPE, torch.device("cuda"))


@pytest.mark.parametrize("network", [FULL, LITE], ids=["full", "lite"])
def test_amp_is_native_with_the_bits_of_tf32(network, asked, monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _kind: True)
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda _kind: torch.float16)
    plan(network)
    assert asked == [(torch.float32, True, False)]


@pytest.mark.parametrize("allowed", [False, True])
def test_fp32_is_native_with_the_bits_that_are_allowed(allowed, asked, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", allowed)
    plan(FULL)
    assert asked == [(torch.float32, allowed, False)]


@pytest.mark.parametrize(
    ("network", "dtype", "int8"),
    [(FULL, torch.float16, True), (LITE, torch.float16, False), (FULL, torch.bfloat16, False)],
    ids=["full", "lite", "bf16"],
)
def test_integers_are_multiplied_where_they_are_allowed_and_there_are_kernels(
    network, dtype, int8, asked
):
    with int8_allowed(True):
        plan(network, dtype)
    plan(network, dtype)
    assert asked == [(dtype, False, int8), (dtype, False, False)]


def test_a_plan_of_integers_is_another_than_that_of_fp16(asked):
    cache = PlanCache(lambda *_: pytest.fail("not native"))
    with torch.no_grad():
        given = FULL, dict, torch.float16, SHAPE, torch.device("cuda")
        fp16 = cache.plan(*given)
        with int8_allowed(True):
            assert cache.plan(*given) is not fp16
    assert len(asked) == 2


class Planned:
    def __init__(self, *_made_of, **_options) -> None:
        self.given: list[dict[str, torch.Tensor]] = []

    def set_weights(self, weights) -> None:
        self.given.append({name: value.clone() for name, value in weights.items()})


class Stream:
    """Frames of a network with `weights` that request their plans from one cache."""

    def __init__(self) -> None:
        self.weights = {"weight": torch.zeros(2)}
        self._cache = PlanCache(lambda *_: cast("LoadableNetwork", None))

    def __call__(self, dtype=torch.float16, shape=SHAPE, index=0):
        device = torch.device("cuda", index)
        with torch.inference_mode():
            return self._cache.plan(FULL, lambda: self.weights, dtype, shape, device)


@pytest.fixture
def frame(asked, monkeypatch):
    monkeypatch.setattr(dispatch, "plan_for", Planned)
    monkeypatch.setattr(cuda, "LayerwisePlan", Planned)
    monkeypatch.setattr(cuda.layerwise, "is_native", lambda _device: False)
    return Stream()


def test_frames_have_one_plan_whose_weights_are_given_to_it_when_they_change(frame):
    plan = frame()
    assert frame() is plan
    assert plan.given == []
    frame.weights["weight"].add_(3)
    assert frame() is plan
    assert frame() is plan
    assert [given["weight"].tolist() for given in plan.given] == [[3.0, 3.0]]
    frame.weights["weight"].data = torch.ones(2)
    assert frame() is plan
    assert plan.given[-1]["weight"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "changed",
    [{"dtype": torch.bfloat16}, {"shape": (1, 16, 32)}, {"shape": (2, 16, 16)}, {"index": 1}],
    ids=["dtype", "size", "frames in a batch", "device"],
)
def test_another_frame_has_another_plan_and_the_first_one_has_its_own_again(changed, frame):
    plan = frame()
    assert frame(**changed) is not plan
    assert frame() is plan


def test_the_next_frame_is_computed_with_the_bits_that_are_allowed_by_then(frame, monkeypatch):
    exact = frame(torch.float32)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert frame(torch.float32) is not exact
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    assert frame(torch.float32) is exact


def test_the_next_frame_runs_on_the_kernels_that_became_ready(frame, monkeypatch):
    monkeypatch.setattr(cuda, "use_native", lambda _name: False)
    layers = frame()
    assert frame() is layers
    monkeypatch.setattr(cuda.layerwise, "is_native", lambda _device: True)
    operations = frame()
    assert operations is not layers
    monkeypatch.setattr(cuda, "use_native", lambda _name: True)
    assert frame() not in (layers, operations)


def test_a_plan_is_made_and_its_weights_are_set_outside_of_inference_mode(frame, monkeypatch):
    modes: list[bool] = []
    made = Planned.__init__

    def noted(self, *given, **options):
        modes.append(torch.is_inference_mode_enabled() or torch.is_grad_enabled())
        made(self, *given, **options)

    monkeypatch.setattr(Planned, "__init__", noted)
    monkeypatch.setattr(
        Planned,
        "set_weights",
        lambda _self, _weights: modes.append(torch.is_inference_mode_enabled()),
    )
    frame()
    frame.weights["weight"].add_(1)
    frame()
    assert modes == [False, False]
