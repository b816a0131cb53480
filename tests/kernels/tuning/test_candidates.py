"""Candidates are shapes that the kernels accept, and include the library's own."""

from __future__ import annotations

import re

import pytest

from kernels.network.shapes import WITH_KERNELS
from kernels.network.tuned import ROLES
from kernels.tuning.candidates import NAMESPACE, candidates, convs, sums_in_fp16

THREADS = {"GeForce": 1536, "data center": 2048}  # per multiprocessor
CASES = [(network, role) for network in WITH_KERNELS for role in ROLES]


@pytest.mark.parametrize(("network", "role"), CASES)
@pytest.mark.parametrize("card", THREADS)
def test_every_layer_has_candidates_and_none_twice(network, role, card):
    found = candidates(WITH_KERNELS[network], role, THREADS[card])
    assert 15 < len(found) < 400
    assert len(set(found)) == len(found)
    kind = {"first": "FirstConvTraits", "last": "LastConvTraits"}.get(role, "ConvTraits")
    assert all(re.fullmatch(rf"{kind}<[a-z0-9, ]+>", traits) for traits in found)


@pytest.mark.parametrize("network", WITH_KERNELS)
def test_candidates_compute_what_the_layer_does(network):
    outer, middle, inner = WITH_KERNELS[network].widths
    starts = {
        "first": f"FirstConvTraits<{outer}, {WITH_KERNELS[network].end_kernel}, ",
        "down1": f"ConvTraits<{outer}, {middle}, 2, false, ",
        "down2": f"ConvTraits<{middle}, {inner}, 2, false, ",
        "same": f"ConvTraits<{inner}, {inner}, 1, false, ",
        "up1": f"ConvTraits<{inner}, {middle}, 1, true, ",
        "up2": f"ConvTraits<{middle}, {outer}, 1, true, ",
        "last": f"LastConvTraits<{outer}, {WITH_KERNELS[network].end_kernel}, ",
    }
    for role, start in starts.items():
        found = candidates(WITH_KERNELS[network], role, 1536)
        assert all(traits.startswith(start) for traits in found)
        if role in convs(WITH_KERNELS[network]):
            takes = "true" if role in ("same", "up1") else "false"
            assert all(traits.endswith(f", {takes}>") for traits in found)


@pytest.mark.parametrize(("network", "role"), CASES)
def test_each_3x3_layer_may_sum_in_fp16_instead(network, role):
    plain = candidates(WITH_KERNELS[network], role, 1536)
    found = candidates(WITH_KERNELS[network], role, 1536, fp16_sums=True)
    assert found[: len(plain)] == plain
    twins = [traits.replace(", styleforge::sm80::In16BitsFp16Sums>", ">") for traits in found]
    assert twins == (plain * 2 if role in convs(WITH_KERNELS[network]) else plain)
    assert not any(map(sums_in_fp16, plain))
    assert all(map(sums_in_fp16, found[len(plain) :]))


def test_blocks_fit_the_threads_of_a_multiprocessor():
    def most(threads: int) -> int:
        found = candidates(WITH_KERNELS["lite"], "first", threads)
        numbers = [list(map(int, re.findall(r"\d+", traits))) for traits in found]
        return max(warps * 32 * blocks for *_, warps, blocks in numbers)

    assert most(1024) <= 1024
    assert most(512) <= 512 < most(1024)


def test_names_are_those_of_the_sources():
    from kernels.jit.libraries import FOLDER

    text = (FOLDER / "network" / "cuda" / "sm80" / "traits.cuh").read_text("utf-8")
    for kind in ("ConvTraits", "FirstConvTraits", "LastConvTraits"):
        assert f"struct {kind} : P {{" in text
    assert "struct In16BitsFp16Sums : In16Bits {" in text
    assert "namespace styleforge::sm80 {" in text
    assert NAMESPACE == "styleforge::sm80::"
