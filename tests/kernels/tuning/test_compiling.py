"""Candidates compile with NVRTC, and the compiler reports their figures."""

from __future__ import annotations

import re

import pytest

from kernels.jit.nvrtc import CompilationError
from kernels.network.shapes import WITH_KERNELS
from kernels.network.tuned import ENDS
from kernels.tuning.candidates import FP16_SUMS, candidates
from kernels.tuning.compiling import Compiler, DoesNotFit, Pool, Request, make, why_not
from tests.helpers.native import source

pytestmark = pytest.mark.slow  # NVRTC needs a second for each

SOURCE = source("network_sm80.cu")
SHARED = 100 * 1024  # per multiprocessor of compute capability 8.6
SAME_SMALL = "ConvTraits<128, 128, 1, false, 8, 16, 4, 2, 16, 3, 3, 1, true>"
# The library's layers, as candidates.
SHIPPED = [
    ("full", "first", "first", "FirstConvTraits<32, 9, 16, 32, 8, 2>"),
    ("full", "down2", "down2", "ConvTraits<64, 128, 2, false, 16, 8, 1, 4, 16, 3, 3, 2, false>"),
    ("full", "same", "same_small", SAME_SMALL),
    ("full", "up1", "up1", "ConvTraits<128, 64, 1, true, 16, 8, 2, 4, 32, 1, 4, 1, true>"),
    ("full", "up2", "up2_small", "ConvTraits<64, 32, 1, true, 16, 16, 2, 4, 32, 1, 4, 1, false>"),
    ("full", "last", "last_small", "LastConvTraits<32, 9, 16, 16, 12, 1>"),
    ("lite", "first", "first", "FirstConvTraits<16, 5, 16, 32, 8, 3>"),
    ("lite", "same", "same", "ConvTraits<48, 48, 1, false, 8, 16, 4, 1, 16, 1, 0, 3, true>"),
    ("lite", "last", "last", "LastConvTraits<16, 5, 16, 32, 9, 3>"),
]  # fmt: skip


@pytest.fixture(scope="module")
def compiler(toolkit):
    return Compiler(toolkit, SOURCE, "sm_86")


def described(description, network, name):
    layers = description["sm80"]["networks"][network]
    return layers[name] if name.split("_")[0] in ENDS else layers["convs"][name]


@pytest.mark.parametrize(("network", "role", "name", "traits"), SHIPPED)
def test_the_librarys_layers_are_candidates_with_the_numbers_that_it_describes(
    network, role, name, traits, compiler, description
):
    assert traits in candidates(WITH_KERNELS[network], role, 1536)
    layer = described(description, network, name)
    made = make(compiler, Request(traits, layer, ("fp16",), 4 * SHARED))
    same = {key: value for key, value in layer.items() if key not in ("kind", "kernels")}
    assert {key: value for key, value in made.described.items() if key != "kernels"} == same
    assert made.described["kernels"].keys() == {"fp16"}
    (kernels,) = made.described["kernels"].values()
    assert kernels.keys() == layer["kernels"]["fp16"].keys()
    assert set(kernels.values()) == set(made.kernels)
    assert all(f"styleforge::sm80::{traits}" in name for name in kernels.values())
    for mangled in made.kernels.values():
        assert mangled.encode() in made.image


@pytest.mark.parametrize("network", WITH_KERNELS)
@pytest.mark.parametrize("role", ["first", "down1", "down2", "same", "up1", "up2", "last"])
def test_candidates_compile_or_are_refused_for_a_reason(network, role, compiler, description):
    found = candidates(WITH_KERNELS[network], role, 1536)
    layer = described(description, network, role)
    made, reasons = 0, []
    for traits in found[:: max(1, len(found) // 5)]:
        try:
            row = make(compiler, Request(traits, layer, ("fp16",), 2 * SHARED)).described
        except (CompilationError, DoesNotFit) as error:
            reasons.append(why_not(error))
            continue
        made += 1
        assert 0 < row["occupied_bytes"] * row["blocks"] <= 2 * SHARED
    assert made
    assert all(re.match("does not compile: |needs .* of shared memory", why) for why in reasons)


def test_a_layer_that_sums_in_fp16_has_the_same_numbers_and_other_code(compiler, description):
    layer = described(description, "full", "same_small")
    summed = SAME_SMALL.replace(">", f", {FP16_SUMS}>")
    plain, other = (
        make(compiler, Request(traits, layer, ("fp16", "bf16"), SHARED))
        for traits in (SAME_SMALL, summed)
    )
    for key, value in plain.described.items():
        assert key == "kernels" or other.described[key] == value
    assert all(summed.partition("<")[0] in name for name in other.kernels)
    assert len(other.image) > 1.1 * len(plain.image)  # conversions and sums


def test_what_does_not_fit_is_told_before_its_kernels_are_compiled(compiler, description):
    layer = described(description, "full", "down1")
    traits = "ConvTraits<32, 64, 2, false, 16, 8, 4, 2, 32, 1, 0, 1, false>"
    with pytest.raises(
        DoesNotFit, match=r"^needs 133,312 bytes of shared memory; there are only 102,4"
    ):
        make(compiler, Request(traits, layer, ("fp16",), SHARED))


def test_what_the_kernels_refuse_is_told_in_one_line(compiler, description):
    layer = described(description, "full", "same")
    traits = "ConvTraits<128, 128, 1, false, 8, 16, 2, 4, 48, 3, 3, 1, true>"
    with pytest.raises(CompilationError) as caught:
        make(compiler, Request(traits, layer, ("fp16",), SHARED))
    assert why_not(caught.value).startswith("does not compile: static assertion failed")


def test_a_process_of_the_pool_makes_the_same(compiler, description):
    layer = described(description, "lite", "down1")
    traits = "ConvTraits<16, 32, 2, false, 8, 16, 4, 2, 16, 1, 0, 3, false>"
    request = Request(traits, layer, tuple(layer["kernels"]), 4 * SHARED)
    pool = Pool(compiler, 1)
    try:
        made = pool.submit(request).result()
    finally:
        pool.close()
    assert made.described["kernels"].keys() == layer["kernels"].keys()
    assert len(made.kernels) == 2
