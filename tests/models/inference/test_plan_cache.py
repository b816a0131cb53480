"""Which plan a network gets on a GPU: native in every precision, AMP as TF32. No GPU is needed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kernels.network import dispatch
from kernels.network.gpu import Gpu
from models.inference import cuda
from models.inference.cuda import PlanCache
from models.network_config import FULL, LITE
from models.precision import int8_allowed

A100 = Gpu((8, 0), 166_912, 167_936, 108)
SHAPE = 1, 16, 16


@pytest.fixture
def asked(monkeypatch):
    """The dtype, and whether TF32 and INT8 are allowed, of each native plan that was made."""
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
