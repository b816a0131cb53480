"""Part of a GPU, with blocks that take more than they need, simulates a smaller GPU."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchmarks.time_model import measure
from benchmarks.time_model.green_context import GreenContextError, part_of_gpu
from benchmarks.time_model.measure import CASES, Case, MeasuringError, Wanted
from kernels.network.dispatch import plan_for, shipped
from kernels.network.gpu import Gpu, standing_for
from kernels.network.shapes import name_of
from kernels.time_model import prediction
from kernels.time_model.cards import card_of, find
from kernels.time_model.prediction import calibration
from models.network_config import CONFIGS
from tests.helpers.errors import mentions
from tests.kernels.driver import stubs

H200 = find("H200")
WHOLE = H200.gpu.shared_bytes_of_multiprocessor


@pytest.fixture(scope="module")
def divided(tmp_path_factory):
    source = Path(__file__).with_name("green_context_stub.c")
    return stubs.shared_library(tmp_path_factory.mktemp("driver"), "libgreen.so", source)


@pytest.fixture
def no_waiting(monkeypatch):
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: None)


def alive(library: Path) -> int:
    return ctypes.c_int.in_dll(ctypes.CDLL(str(library)), "stub_alive").value


def test_a_part_of_a_gpu_is_as_large_as_the_driver_makes_it(divided, no_waiting):
    with part_of_gpu(27, 0, str(divided)) as (count, stream):
        assert (count, stream.value) == (28, 3)
        assert alive(divided) == 2
    assert alive(divided) == 0


def test_a_part_is_given_back_after_an_error(divided, no_waiting):
    with pytest.raises(KeyError), part_of_gpu(28, 0, str(divided)):
        raise KeyError
    assert alive(divided) == 0


@pytest.mark.parametrize("count", [131, 132, 500])
def test_a_part_that_is_no_part_is_refused_in_words(count, divided, no_waiting):
    with (
        pytest.raises(GreenContextError, match=f"^GPU 0 .* {count}$"),
        part_of_gpu(count, 0, str(divided)),
    ):
        pass


def test_a_driver_that_refuses_is_one_sentence(divided, no_waiting):
    with (
        pytest.raises(GreenContextError, match=r"^28 .*cuDeviceGetDevResource"),
        part_of_gpu(28, 1, str(divided)),
    ):
        pass


@pytest.mark.parametrize("shared_kb", [100, 164, 228])
def test_padded_blocks_share_a_multiprocessor_as_on_a_card_with_less_memory(shared_kb):
    limit = shared_kb * 1024
    described = json.loads(prediction.FILE.read_text())["description"]
    padded = measure.padded(described, limit, WHOLE)
    assert padded["sm90"] == described["sm90"]
    count = 0
    for before, after in layers_of(described["sm80"], padded["sm80"]):
        count += 1
        assert after == {**before, "shared_bytes": after["shared_bytes"]}
        assert before["shared_bytes"] <= after["shared_bytes"] <= H200.shared_kb * 1024 - 1024
        beside = before["occupied_bytes"] - before["shared_bytes"]
        wanted = max(1, limit // before["occupied_bytes"])
        assert WHOLE // (after["shared_bytes"] + beside) == wanted
    networks = calibration().traits.sm80.networks.values()
    assert count == sum(len(network.convs) + 4 for network in networks)


def layers_of(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each layer of two descriptions."""
    assert before.keys() == after.keys()
    if "occupied_bytes" in before:
        yield before, after
        return
    for name, entry in before.items():
        if isinstance(entry, dict):
            yield from layers_of(entry, after[name])
        else:
            assert entry == after[name]


def test_a_calibration_of_other_kernels_is_refused():
    told = calibration()
    library: Any = SimpleNamespace(abi=told.traits)
    measure.check_kernels(library, told, H200)
    sm80 = told.traits.sm80
    lite = sm80.networks["lite"]
    lite = replace(lite, convs={**lite.convs, "up1": replace(lite.convs["up1"], tile_h=16)})
    other = replace(sm80, networks={**sm80.networks, "lite": lite})
    library = SimpleNamespace(abi=replace(told.traits, sm80=other))
    with pytest.raises(MeasuringError, match=r"run `python .* describe`$"):
        measure.check_kernels(library, told, H200)


@pytest.fixture
def measuring(monkeypatch, no_waiting):
    """Return the results of `measure` with plans that launch nothing, and the plans' arguments."""
    told = calibration()
    library = SimpleNamespace(abi=told.traits)
    made: list[tuple[str, Gpu]] = []
    launches: list[int] = []

    def step(stream: ctypes.c_void_p, _: bool) -> None:
        launches.append(stream.value or 0)

    def plan(_: Any, network: Any, *__: Any, backend: str) -> Any:
        made.append((f"{name_of(network)} {backend}", Gpu.of(torch.device("cuda"))))
        return SimpleNamespace(steps=lambda: [step] * 16)

    @contextmanager
    def part(count: int, *_: Any) -> Any:
        yield count, ctypes.c_void_p(count) if count == 28 else None

    def captured(steps: Any, times: int) -> Any:
        return lambda: measure._launch(list(steps) * times, ctypes.c_void_p(132))

    monkeypatch.setattr(measure, "shipped", lambda _: library)
    monkeypatch.setattr(measure, "card_of", lambda _: H200)
    monkeypatch.setattr(measure, "plan_for", plan)
    monkeypatch.setattr(measure, "_part", part)
    monkeypatch.setattr(measure, "_captured", captured)
    monkeypatch.setattr(measure, "limited", lambda *_: library)

    def run(wanted: Wanted) -> Any:
        lines: list[str] = []
        weights: Any = {"full": {}, "lite": {}}
        rows = measure.measure(weights, torch.device("cuda", 0), wanted, told, lines.append)
        return SimpleNamespace(rows=rows, lines=lines, made=made, streams=set(launches))

    return run


@pytest.mark.full
def test_every_case_is_measured_and_predicted(measuring):
    cases = (Case("full", "sm90"), Case("full", "sm80-small", 100), Case("lite", "sm80", 100))
    found = measuring(Wanted((28,), cases, ((64, 64),)))
    described = [
        (row["network"], row["backend"], row["shared_kb"], row["multiprocessors"])
        for row in found.rows
    ]
    assert described == [
        (case.network, case.backend, case.shared_kb, count) for count in (132, 28) for case in cases
    ]
    assert [row["all"] for row in found.rows] == [True] * 3 + [False] * 3
    assert found.made == [
        (f"{case.network} {case.backend}", H200.part(count, case.shared_kb).gpu)
        for count in (132, 28)
        for case in cases
    ]
    assert found.streams == {132, 28}
    assert len(found.lines) == 6
    for row in found.rows:
        assert row["ms"] > 0
        assert len(row["layers_ms"]) == 16
        assert sum(row["predicted_layers_ms"].values()) == pytest.approx(row["predicted_ms"])
    whole, part = (found.rows[n]["predicted_ms"] for n in (0, 3))
    assert whole <= part


def test_the_time_of_a_graph_is_shared_by_its_launches(monkeypatch, no_waiting):
    seconds = iter(range(1000))
    monkeypatch.setattr(measure.time, "perf_counter", lambda: float(next(seconds)))
    monkeypatch.setattr(measure, "_captured", lambda *_: lambda: None)
    assert measure.steps_ms([], None, 1.0) == 1000 / measure.LAUNCHES
    assert measure.steps_ms([], ctypes.c_void_p(1), 1.0) == 1000


def test_a_case_that_does_not_run_here_is_told_and_left_out(measuring, monkeypatch):
    monkeypatch.setattr(measure, "card_of", lambda _: find("RTX 3060"))
    found = measuring(Wanted((), (Case("full", "sm90"), Case("lite", "sm80")), ((64, 64),)))
    assert [row["backend"] for row in found.rows] == ["sm80"]
    assert mentions(found.lines[0], "full, sm90", "NVIDIA GeForce RTX 3060", "Hopper")


@pytest.fixture
def weights():
    generator = torch.Generator().manual_seed(0)
    return {
        name: {
            key: torch.randn(shape, generator=generator) / 30
            for key, shape in config.state_shapes().items()
        }
        for name, config in CONFIGS.items()
    }


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_part_of_this_gpu_paints_what_all_of_it_paints(case, weights, native_kernels):
    device = torch.device("cuda", torch.cuda.current_device())
    card, config = card_of(device), CONFIGS[case.network]
    if why := measure._why_not(case, card, calibration()):
        pytest.skip(why)
    library = measure.limited(shipped(device), card, case.shared_kb, device)
    generator = torch.Generator().manual_seed(0)
    with torch.inference_mode(), part_of_gpu(28, device.index) as (count, stream):
        assert count >= 28
        with standing_for(card.part(count, case.shared_kb).gpu):
            plan = plan_for(
                *(weights[case.network], config, (1, 128, 256), torch.float16, device, library),
                backend=case.backend,
            )
        plan.frames.copy_(torch.randint(0, 256, plan.frames.shape, generator=generator))
        plan.replay()
        torch.cuda.synchronize()
        whole = plan.pictures.clone()
        plan.pictures.zero_()
        torch.cuda.synchronize()
        for step in plan.steps():
            step(stream, True)
        torch.cuda.synchronize()
        assert torch.equal(plan.pictures, whole)


@pytest.mark.gpu
def test_this_gpu_is_measured_on_all_and_on_some_multiprocessors(weights, native_kernels):
    device = torch.device("cuda", torch.cuda.current_device())
    cases = (Case("full", "sm80-small", 100), Case("lite", "sm80"))
    wanted = Wanted((16,), cases, ((256, 256),))
    rows = measure.measure(weights, device, wanted, calibration(), lambda _: None)
    assert [row["all"] for row in rows] == [True, True, False, False]
    assert all(row["ms"] > 0 and min(row["layers_ms"].values()) > 0 for row in rows)
