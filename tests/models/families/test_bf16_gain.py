"""Each family offers BF16 on the CPU by its own measurement, made once."""

from __future__ import annotations

import pytest
import torch

from models.families import bf16_gain
from models.families.keys import ANY_STYLE, FEED_FORWARD
from models.families.table import FAMILIES
from models.precision import BF16_IS_NO_GAIN, Precision
from models.runtimes.table import RUNTIMES
from models.transformer_net import VARIANTS
from tests.helpers.precisions import offer_bf16, set_bf16_gains

CPU = torch.device("cpu")


def refusal(family: str, kernels: str = "fused", precision: Precision = Precision.bf16) -> str:
    return FAMILIES[family].refusal(kernels, precision, CPU)


@pytest.mark.parametrize("kernels", VARIANTS)
def test_a_family_offers_bf16_only_if_its_own_network_is_faster(monkeypatch, kernels):
    offer_bf16(monkeypatch)
    set_bf16_gains(monkeypatch, 0.7, any_style=1.2)
    assert refusal(FEED_FORWARD, kernels) == BF16_IS_NO_GAIN
    assert refusal(ANY_STYLE, kernels) == ""
    family = FAMILIES[FEED_FORWARD]
    assert family.computed(kernels, Precision.bf16, CPU) is Precision.fp32
    assert FAMILIES[ANY_STYLE].computed(kernels, Precision.bf16, CPU) is Precision.bf16


def test_a_gain_that_may_be_noise_does_not_count(monkeypatch):
    offer_bf16(monkeypatch)
    set_bf16_gains(monkeypatch, 1.01)
    assert refusal(FEED_FORWARD) == BF16_IS_NO_GAIN


def test_a_runtime_is_left_to_its_own_refusal():
    for precision in Precision:
        assert all(refusal(FEED_FORWARD, key, precision) == "" for key in RUNTIMES)


def test_nothing_is_measured_without_bf16_instructions_or_for_another_precision(monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    monkeypatch.setattr(bf16_gain, "_gains", {})
    assert "no BF16 instructions" in refusal(FEED_FORWARD)
    for precision in Precision:
        FAMILIES[FEED_FORWARD].refusal("fused", precision, CPU)
    assert not bf16_gain._gains


def test_a_network_is_measured_once_and_again_when_our_kernels_run(monkeypatch):
    offer_bf16(monkeypatch)
    monkeypatch.setattr(bf16_gain, "_gains", {})
    for ours, gain in ((False, 2.0), (True, 0.5)):
        monkeypatch.setattr(bf16_gain, "in_use", lambda ours=ours: ours)
        measured = []
        monkeypatch.setattr(
            bf16_gain, "gain", lambda build, gain=gain, to=measured: to.append(build) or gain
        )
        told = [refusal(FEED_FORWARD) for _ in range(3)]
        assert told == ["" if gain > 1 else BF16_IS_NO_GAIN] * 3
        assert len(measured) == 1


@pytest.mark.full
@pytest.mark.parametrize("family", [FEED_FORWARD, pytest.param(ANY_STYLE, marks=pytest.mark.full)])
def test_the_measurement_runs_the_fused_network_in_both_precisions(monkeypatch, family):
    ran: list[tuple[torch.dtype, bool]] = []
    seconds = bf16_gain._seconds

    def watched(network, picture):
        dtypes = {weight.dtype for weight in network.parameters()}
        assert dtypes == {picture.dtype}
        ran.append((picture.dtype, bool(torch.isfinite(network(picture)).all())))
        return seconds(network, picture)

    monkeypatch.setattr(bf16_gain, "_seconds", watched)
    state = torch.get_rng_state()
    assert bf16_gain.gain(FAMILIES[family].sample) > 0
    assert ran == [(torch.float32, True), (torch.bfloat16, True)] * bf16_gain.ROUNDS
    assert torch.equal(torch.get_rng_state(), state), "the caller's random numbers go on"
