"""On a GPU, tuned layers are stored, tested and used, and paint the same picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.jit import build
from kernels.network import dispatch, tuned
from kernels.network.dispatch import plan_for
from kernels.network.launchers import tuned_network
from kernels.network.shapes import LITE
from kernels.self_test.network import random_weights
from kernels.table.registry import NETWORK
from kernels.tuning import sweep, tuner
from kernels.tuning.batch import Case
from kernels.tuning.candidates import sums_in_fp16
from kernels.tuning.sweep import Measured, Wanted, Winner

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]

CASE = Case("lite", False)
SIZE = (512, 512)


@pytest.fixture(scope="module")
def device():
    if not build.load(NETWORK):
        pytest.skip(f"the network does not run here: {build.reason(NETWORK)}")
    device = torch.device("cuda", torch.cuda.current_device())
    if "sm80" not in [row.name for row in dispatch.available(LITE, device, torch.float16)]:
        pytest.skip("the lite network does not run on the general path here")
    return device


def fresh(device: torch.device):
    """Return the library as the next start of the program loads it."""

    def make(
        images: ImageList, folder: Path, capability: tuple[int, int], index: int, driver: Driver
    ):
        return tuned_network(images, folder, capability, index, driver)

    return build.handle(NETWORK).made_by(make).on(device)


def painted(library, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    weights = random_weights(LITE, generator)
    x = (torch.rand(1, 3, SIZE[1], SIZE[0], generator=generator) * 255).to(device, dtype)
    shape = (1, SIZE[1], SIZE[0])
    with torch.inference_mode():
        return plan_for(weights, LITE, shape, dtype, device, library, backend="sm80")(x).double()


def first(measured: Sequence[Measured], sizes: Sequence[tuple[int, int]]) -> list[Winner]:
    """Choose the candidate that was measured first, faster or not."""
    one = measured[0]
    return [Winner(one.case, one.role, size, one.traits, one.times[size]) for size in sizes]


def test_a_role_is_tuned_stored_tested_and_used(device, monkeypatch):
    monkeypatch.setattr(sweep, "winners", first)
    lines: list[str] = []
    wanted = Wanted((CASE,), ("down1",), (SIZE,), most=12)
    found, said = tuner.tune(device, wanted, lines.append)
    assert found.stopped == ""
    assert len(found.winners) == 1, [one.reason for one in found.skipped]
    assert not any("stores other" in one.reason for one in found.skipped)
    assert lines
    card = torch.cuda.get_device_name(device)
    assert said.startswith("tuned for this card on "), said
    assert said.endswith("lite at 512x512: down1")
    assert tuned.verdict(card) == ""

    library, shipped = fresh(device), dispatch.shipped(device)
    assert library.tuning == said
    assert shipped.tuning == ""
    layers = library.abi.sm80.layers("lite", (1, 512, 512), small=False)
    (winner,) = found.winners
    assert winner.traits in layers.convs["down1"].kernels["fp16"]["plain"]
    for dtype, least in ((torch.float16, 55), (torch.bfloat16, 37)):
        ours, theirs = (painted(each, device, dtype) for each in (library, shipped))
        error = float((ours - theirs).square().mean() / theirs.square().mean())
        assert error < 10 ** (-least / 10)

    assert tuned.forget(card)
    assert fresh(device).tuning == ""


def test_layers_that_sum_in_fp16_store_the_same_to_their_rounding(device, monkeypatch):
    monkeypatch.setattr(sweep, "CAPABILITIES_OF_FP16_SUMS", [torch.cuda.get_device_capability()])
    monkeypatch.setattr(sweep, "RUNS", 2)
    monkeypatch.setattr(sweep, "MORE_RUNS", 2)
    wanted = Wanted((CASE, Case("full", False)), ("down2", "same", "up1"), (SIZE,), most=10)
    found, _ = tuner.tune(device, wanted, lambda _: None)
    assert not [one for one in found.skipped if one.reason.startswith(("stores", "leaves"))]
    assert sum(sums_in_fp16(one.traits) for one in found.measured) > 3
    tuned.forget(torch.cuda.get_device_name(device))


def test_every_role_of_both_networks_has_candidates_that_store_the_same(device, monkeypatch):
    cases = (CASE, Case("full", True, 100))
    wanted = Wanted(cases, sizes=(SIZE,), most=6)
    monkeypatch.setattr(sweep, "RUNS", 2)
    monkeypatch.setattr(sweep, "MORE_RUNS", 2)
    found, said = tuner.tune(device, wanted, lambda _: None)
    assert found.stopped == ""
    assert len(found.done) == 14
    assert not [one for one in found.skipped if one.reason.startswith(("stores", "leaves"))]
    assert len(found.measured) > 14
    assert said
    tuned.forget(torch.cuda.get_device_name(device))
