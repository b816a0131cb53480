"""A sweep's winners are stored, tested in a child process, and used by the next start."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.driver.driver import Driver
from kernels.driver.prebuilt import PerDevice
from kernels.jit import build, subprocesses
from kernels.jit.errors import BuildError
from kernels.network import dispatch, tuned
from kernels.network.gpu import Gpu, _other
from kernels.network.launchers import tuned_network
from kernels.self_test import tuned as self_test
from kernels.tuning import sweep, tuner
from kernels.tuning.batch import Case, local_bytes, network_with
from kernels.tuning.compiling import Made, Request
from kernels.tuning.measuring import Times
from kernels.tuning.sweep import Found, Sweep, Wanted, Winner
from kernels.tuning.tuner import TuningError, cases_of, tune
from tests.kernels.driver.standins import CODE, write_images
from tests.kernels.network.tunings import CARD, layer

DEVICE = torch.device("cuda", 0)
HOPPER, GEFORCE = Gpu((9, 0), 232_448, 233_472, 132), Gpu((8, 6), 101_376, 102_400, 28)
LITE, LIMITED = Case("lite", False), Case("full", True, 100)
TIMES = Times(0.5, 1.0, 0.0)
WINNERS = [
    Winner(LITE, "down1", (512, 512), "Traits<one>", TIMES),
    Winner(LITE, "first", (1280, 720), "Traits<two>", TIMES),
]


@pytest.fixture
def gpu(monkeypatch):
    found = [HOPPER]
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: CARD)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: found[0].capability)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(Gpu, "of", lambda _: _other.get() or found[0])
    return found


@pytest.fixture
def library(description, stub_path, tmp_path, gpu, monkeypatch):
    """Return the network's library in use, with a driver that launches nothing."""
    folder = tmp_path / "images"
    folder.mkdir()
    images = replace(write_images("network", description, folder), digest="abc")
    made = PerDevice(images, folder, tuned_network, Driver(str(stub_path)))
    monkeypatch.setattr(build, "load", lambda _: True)
    monkeypatch.setattr(build, "handle", lambda _: made)
    return made


@pytest.fixture
def found(library, description, monkeypatch) -> Found:
    """Return the sweep's result, for the test to change; every candidate compiles."""
    result = Found(winners=list(WINNERS), done=[(LITE, "down1"), (LITE, "first")])
    rows = {one.traits: one.role for one in WINNERS}

    class Pool:
        def __init__(self, *_: Any) -> None: ...

        def close(self) -> None: ...

        def submit(self, request: Request) -> Future[Made]:
            assert request.dtypes == ("fp16", "bf16")
            row = layer(description, rows[request.traits], traits=request.traits).described
            names = tuned.kernel_names(row)
            future: Future[Made] = Future()
            future.set_result(Made(request.traits, row, CODE, {name: name for name in names}))
            return future

    def in_this_process(command: list[str], environment: dict[str, str], folder: Path, _: Path):
        assert command == [sys.executable, "-m", "kernels.self_test.tuned", "0"]
        assert environment["PYTHONPATH"].startswith(str(folder))
        self_test.test_tuned(DEVICE)

    tools = SimpleNamespace(toolkit=None, defines=())
    monkeypatch.setattr(tuner, "cuda_tools", lambda _: tools)
    monkeypatch.setattr(tuner, "Pool", Pool)
    monkeypatch.setattr(sweep, "Driver", lambda: None)
    monkeypatch.setattr(Sweep, "run", lambda *_: result)
    monkeypatch.setattr(subprocesses, "run", in_this_process)
    monkeypatch.setattr(self_test, "psnr", lambda *_: 60.0)
    return result


def tuned_now() -> str:
    return tune(DEVICE, Wanted((LITE,)), lambda _: None)[1]


def test_what_is_faster_is_stored_tested_and_used(library, found):
    said = tuned_now()
    assert said.endswith(": lite at 512x512: down1; lite at 1280x720: first")
    assert said.startswith("tuned for this card on ")
    fresh = library.made_by(tuned_network).on(DEVICE)
    assert fresh.tuning == said
    assert dispatch.shipped(DEVICE).tuning == ""
    layers = fresh.abi.sm80.layers("lite", (1, 512, 512), small=False)
    assert "Traits<one>" in layers.convs["down1"].kernels["bf16"]["plain"]
    stored = tuned.read(CARD)
    assert stored is not None
    assert [(one.ms, one.shipped_ms) for one in stored.layers] == [(0.5, 1.0)] * 2


def test_every_layer_of_every_size_is_tested(library, found, monkeypatch):
    tested: list[tuple[str, str]] = []

    def psnr(_network, shape, dtype, _device, library, backend):
        layers = library.abi.sm80.layers("lite", shape, small=False)
        names = [
            layers.convs["down1"].kernels["fp16"]["plain"],
            layers.first.kernels["fp16"]["bytes"],
        ]
        tested.append((backend, " ".join(name for name in names if "Traits<" in name)))
        return 60.0

    monkeypatch.setattr(self_test, "psnr", psnr)
    tuned_now()
    assert {backend for backend, _ in tested} == {"sm80"}
    assert sum("Traits<one>" in names for _, names in tested) == 4, "two dtypes, two shapes"
    assert sum("Traits<two>" in names for _, names in tested) == 4
    assert len(tested) == 8, "a size of which nothing is tuned need not be tested"


def test_layers_that_are_wrong_are_not_used_and_the_reason_is_told(library, found, monkeypatch):
    monkeypatch.setattr(self_test, "psnr", lambda *_: 20.0)
    reason = "self-test failed: the lite network in float16 is right to 20 dB only"
    assert tuned_now() == f"not used: {reason}"
    assert library.made_by(tuned_network).on(DEVICE).tuning.endswith(f"are not used: {reason}")


def test_a_self_test_that_crashes_is_the_reason_why_layers_are_not_used(found, monkeypatch):
    def crash(*_):
        raise SystemExit

    def run(*_):
        with pytest.raises(SystemExit):
            self_test.test_tuned(DEVICE)

    monkeypatch.setattr(self_test, "psnr", crash)
    monkeypatch.setattr(subprocesses, "run", run)
    assert tuned_now() == "not used: the self-test ended without a result"


def test_a_self_test_that_takes_too_long_is_told(found, monkeypatch):
    def run(*_):
        raise BuildError("build took longer than 300 seconds")

    monkeypatch.setattr(subprocesses, "run", run)
    assert tuned_now() == "not used: build took longer than 300 seconds"


def test_what_is_tuned_again_replaces_what_was_and_the_rest_stays(found):
    tuned_now()
    found.winners[:], found.done[:] = [], [(LITE, "down1")]
    assert tuned_now().endswith(": lite at 1280x720: first")
    stored = tuned.read(CARD)
    assert stored is not None
    names = {path.name for path in tuned.tuned_folder().glob("*.xz")}
    assert names == {image.file for image in stored.images}


def test_a_damaged_file_is_replaced(found):
    tuned.path_of(CARD).parent.mkdir(parents=True)
    tuned.path_of(CARD).write_text("{")
    assert tuned_now().endswith(": lite at 512x512: down1; lite at 1280x720: first")


def test_what_was_measured_with_a_limit_is_not_stored(found):
    found.winners[:] = [replace(one, case=LIMITED) for one in found.winners]
    found.done[:] = [(LIMITED, "down1")]
    assert tuned_now() == "nothing is stored"
    assert tuned.read(CARD) is None


def test_without_nvrtc_one_sentence_says_so(found, monkeypatch):
    def missing(_):
        raise BuildError("no CUDA compiler found: install the CUDA toolkit (NVRTC)")

    monkeypatch.setattr(tuner, "cuda_tools", missing)
    with pytest.raises(TuningError, match=r"^no CUDA compiler found: install"):
        tuned_now()


def test_networks_are_tuned_that_run_on_the_general_path(library, gpu):
    assert cases_of((), DEVICE) == [Case("lite", False)]
    assert cases_of(("full",), DEVICE) == [Case("full", False)]
    assert cases_of(("full", "lite"), DEVICE, 100) == [
        Case("full", True, 100),
        Case("lite", False, 100),
    ]


def test_a_card_with_less_shared_memory_tunes_the_small_layers(library, gpu, description):
    cases = [Case("full", True), Case("lite", False)]
    build.handle("network").on(DEVICE)  # with images for Hopper
    gpu[0] = GEFORCE
    assert cases_of((), DEVICE) == cases


def test_a_library_that_is_not_in_use_is_told(gpu, monkeypatch):
    monkeypatch.setattr(build, "load", lambda _: False)
    monkeypatch.setitem(build._reasons, "network", "no CUDA device")
    with pytest.raises(
        TuningError, match=r"^the native network does not run here: no CUDA device$"
    ):
        cases_of((), DEVICE)


@pytest.mark.parametrize("case", [LITE, Case("lite", False, 100)], ids=str)
def test_candidates_are_loaded_beside_the_librarys_layers(case, library, description, tmp_path):
    rows = [dict(layer(description, traits=f"Traits<{n}>").described) for n in range(2)]
    for row in rows:  # measured layers have the kernels of one precision
        row["kernels"] = {"fp16": row["kernels"]["fp16"]}
    made = [
        Made(f"Traits<{n}>", row, CODE, {name: name for name in tuned.kernel_names(row)})
        for n, row in enumerate(rows)
    ]
    network = network_with(made, case, "down1", "sm_90", tmp_path, 233_472)
    shipped = network.abi.sm80.networks["lite"]
    for number, row in enumerate(network.abi.sm80.tuned):
        down1 = row.layers.convs["down1"]
        assert f"Traits<{number}>" in down1.kernels["fp16"]["plain"]
        assert (down1.shared_bytes > rows[0]["shared_bytes"]) == bool(case.shared_kb)
        assert row.layers.convs["same"] == shipped.convs["same"]
    assert network.abi.sm80.tuned[0].layers.number != network.abi.sm80.tuned[1].layers.number


def test_registers_that_spill_are_told_by_the_driver(driver):
    kernels = {"a": "kernel", "b": "other"}
    assert local_bytes(Made("T", {}, CODE, kernels), driver, 0) == 0
    assert local_bytes(Made("T", {}, CODE, {**kernels, "c": "spills"}), driver, 0) == 16
    with pytest.raises(BuildError, match=r"^no attribute 3 of a kernel: "):
        driver.kernel_attribute(3, driver.kernel(driver.load(CODE, "it"), "a", 0, 0), 1)
