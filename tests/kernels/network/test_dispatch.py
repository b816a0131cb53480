"""The backend that a GPU gets, or the reason for none, decided without a GPU."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from kernels.driver.compiling import architecture_for, sources_of
from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.network import dispatch
from kernels.network.dispatch import BACKENDS, OF_INT8, Gpu
from kernels.table.registry import NETWORK
from models.network_config import FULL, LITE, NetworkConfig

V100 = Gpu((7, 0), 98_304, 98_304, 80)
T4, T4_OF_48_KB = Gpu((7, 5), 65_536, 65_536, 40), Gpu((7, 5), 49_152, 65_536, 40)
A100 = Gpu((8, 0), 166_912, 167_936, 108)
RTX_4090 = Gpu((8, 9), 101_376, 102_400, 128)
TINY = Gpu((8, 9), 65_536, 65_536, 128)
H200 = Gpu((9, 0), 232_448, 233_472, 132)
OTHER = NetworkConfig(widths=(16, 32, 64))
FP16, BF16, FP32, FP64 = torch.float16, torch.bfloat16, torch.float32, torch.float64


@pytest.fixture
def gpu(monkeypatch):
    def present(found: Gpu) -> torch.device:
        monkeypatch.setattr(Gpu, "of", lambda _device: found)
        return torch.device("cuda")

    return present


@pytest.fixture
def library_on(described, description):
    """Return a function that fakes the library compiled for a GPU, enough to choose a backend."""
    sources = sources_of(LIBRARIES[NETWORK], description)

    def on(found: Gpu) -> SimpleNamespace:
        made = {
            source.name
            for source in sources
            if architecture_for(source.target, found.capability, source.until)
        }
        return SimpleNamespace(abi=described, sources=made)

    return on


@pytest.mark.parametrize(
    ("found", "network", "dtype", "names"),
    [
        (H200, FULL, FP16, ["sm90", "sm80", "sm80-small"]),
        (H200, FULL, FP32, ["sm90", "sm80", "sm80-small"]),
        (A100, FULL, BF16, ["sm80", "sm80-small"]),
        (A100, FULL, FP32, ["sm80", "sm80-small"]),
        (RTX_4090, FULL, FP32, ["sm80-small"]),
        (TINY, FULL, FP32, []),
        (T4, FULL, FP32, []),
        (RTX_4090, FULL, FP16, ["sm80-small"]),
        (TINY, FULL, FP16, []),
        (T4, FULL, FP16, ["sm75"]),
        (T4, FULL, BF16, []),
        (V100, FULL, FP16, []),
        (H200, FULL, FP64, []),
        (H200, LITE, FP16, ["sm80"]),
        (A100, LITE, BF16, ["sm80"]),
        (RTX_4090, LITE, FP16, ["sm80"]),
        (H200, LITE, FP32, ["sm80"]),
        (RTX_4090, LITE, FP32, ["sm80"]),
        (TINY, LITE, FP16, []),
        (T4, LITE, FP16, ["sm75"]),
        (T4, LITE, BF16, []),
        (T4, OTHER, FP16, []),
        (H200, OTHER, FP16, []),
        (H200, replace(LITE, end_kernel=9), FP16, []),
        (H200, replace(LITE, num_residual_blocks=1), FP16, ["sm80"]),
    ],
    ids=str,
)
def test_a_gpu_gets_the_backends_it_can_run(gpu, library_on, found, network, dtype, names):
    ready = dispatch.available(network, gpu(found), dtype, library_on(found))
    assert [backend.name for backend in ready] == names


def test_the_layers_of_an_older_gpu_run_on_a_newer_one_if_they_were_compiled_for_it(
    gpu, library_on
):
    library = library_on(H200)
    library.sources.add("network_sm75.cu")
    *_, last = dispatch.available(FULL, gpu(H200), FP16, library)
    assert last.name == "sm75"


@pytest.mark.parametrize(
    ("found", "network", "dtype", "reason"),
    [
        (H200, FULL, FP16, ""),
        (A100, FULL, FP32, ""),
        (RTX_4090, LITE, FP32, ""),
        (TINY, FULL, FP32, "too little shared memory"),
        (TINY, FULL, FP16, "too little shared memory"),
        (T4, FULL, FP16, ""),
        (
            T4,
            FULL,
            BF16,
            "on compute capability 7.5, the native kernels run only in FP16; runs",
        ),
        (
            T4,
            FULL,
            FP32,
            "on compute capability 7.5, the native kernels run only in FP16; runs",
        ),
        (T4, FULL, FP64, "no native network in float64; runs layer by layer"),
        (T4_OF_48_KB, FULL, FP16, "too little shared memory for the native kernels; runs layer by"),
        (V100, FULL, FP16, "need a GPU of compute capability 7.5; runs layer by layer"),
        (H200, FULL, FP64, "no native network in float64"),
        (RTX_4090, LITE, FP16, ""),
        (TINY, LITE, FP16, "too little shared memory"),
        (T4, LITE, FP16, ""),
        (T4, LITE, FP32, "only in FP16"),
        (T4, OTHER, FP16, "the widths of the full and lite networks; runs layer by layer"),
        (H200, OTHER, FP16, "the widths of the full and lite networks; runs layer by layer"),
    ],
    ids=str,
)
def test_a_gpu_that_cannot_run_it_is_told_why(
    gpu, library_on, monkeypatch, found, network, dtype, reason
):
    library = library_on(found)
    monkeypatch.setattr(build, "reason", lambda _name: "")
    monkeypatch.setattr(build, "handle", lambda _name: SimpleNamespace(on=lambda _device: library))
    said = dispatch.unavailable_reason(network, gpu(found), dtype)
    assert reason in said
    assert bool(said) == bool(reason)


def test_what_is_not_built_yet_is_the_reason_where_a_backend_could_run(gpu, monkeypatch):
    monkeypatch.setattr(build, "reason", lambda _name: "not built yet")
    assert dispatch.unavailable_reason(FULL, gpu(H200), FP16) == "not built yet"
    assert dispatch.unavailable_reason(FULL, gpu(T4), FP16) == "not built yet"
    assert "only in FP16" in dispatch.unavailable_reason(FULL, gpu(T4), BF16)


def test_a_library_that_does_not_match_is_the_reason(gpu, monkeypatch):
    def mismatch(_device):
        raise BuildError("the library's struct differs")

    monkeypatch.setattr(build, "reason", lambda _name: "")
    monkeypatch.setattr(build, "handle", lambda _name: SimpleNamespace(on=mismatch))
    assert dispatch.unavailable_reason(FULL, gpu(H200), FP16) == "the library's struct differs"


@pytest.mark.parametrize(
    ("found", "network", "names"),
    [
        (H200, FULL, ["sm80-int8", "sm80-int8-small"]),
        (A100, FULL, ["sm80-int8", "sm80-int8-small"]),
        (RTX_4090, FULL, ["sm80-int8-small"]),
        (RTX_4090, replace(FULL, num_residual_blocks=2), ["sm80-int8-small"]),
        (TINY, FULL, []),
        (T4, FULL, []),
        (H200, LITE, []),
    ],
    ids=str,
)
def test_integers_have_backends_of_their_own(gpu, library_on, found, network, names):
    ready = dispatch.available(network, gpu(found), FP16, library_on(found), int8=True)
    assert [backend.name for backend in ready] == names


@pytest.mark.parametrize(
    ("found", "network", "reason"),
    [
        (RTX_4090, FULL, ""),
        (TINY, FULL, "too little shared memory"),
        (T4, FULL, "INT8 needs a GPU of compute capability 8.0; runs in FP16"),
        (H200, LITE, "INT8 only supports the widths of the full network; runs in FP16"),
    ],
    ids=str,
)
def test_a_network_without_integers_is_told_why(
    gpu, library_on, monkeypatch, found, network, reason
):
    library = library_on(found)
    monkeypatch.setattr(build, "reason", lambda _name: "")
    monkeypatch.setattr(build, "handle", lambda _name: SimpleNamespace(on=lambda _device: library))
    said = dispatch.unavailable_reason(network, gpu(found), FP16, int8=True)
    assert reason in said
    assert bool(said) == bool(reason)
    assert FP32 not in dispatch.OF_INT8[0].dtypes
    assert "no native network in float32" in dispatch.OF_INT8[0].reason(H200, FULL, FP32, None)


def test_a_backend_that_cannot_run_is_refused_by_name(gpu, library_on):
    arguments = {}, FULL, (1, 16, 16), FP64, gpu(H200), library_on(H200)
    with pytest.raises(ValueError, match=r"no backend sm80 runs torch\.float64"):
        dispatch.plan_for(*arguments, backend="sm80")


def test_the_library_is_built_from_every_backends_source():
    sources = {source for backend in (*BACKENDS, *OF_INT8) for source in backend.sources}
    assert sources | {"network_abi.cu"} == {path.name for path in LIBRARIES[NETWORK].sources}


def test_names_of_backends_are_unique():
    names = [backend.name for backend in (*BACKENDS, *OF_INT8)]
    assert len(names) == len(set(names))
