"""A part of a GPU, and blocks that take more than they need, stand for a smaller GPU."""

from __future__ import annotations

import ctypes
import struct
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.network.dispatch import BACKENDS, loaded, plan_for
from kernels.network.gpu import Gpu
from kernels.time_model.cards import find
from kernels.time_model.prediction import calibration, resident_blocks
from kernels.time_model.work import work
from models.network_config import FULL
from tests.kernels.driver import stubs
from tools.time_model import measure
from tools.time_model.describe import kernel_resources
from tools.time_model.green_context import GreenContextError, part_of_gpu
from tools.time_model.measure import MeasuringError, Wanted

H200 = find("H200")
WHOLE = (H200.shared_kb + 1) * 1024


@pytest.fixture(scope="module")
def divided(tmp_path_factory):
    """The path of a driver that divides a GPU."""
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
        pytest.raises(GreenContextError, match=rf"^GPU 0 has 132 .* cannot take {count}$"),
        part_of_gpu(count, 0, str(divided)),
    ):
        pass


def test_a_driver_that_refuses_is_one_sentence(divided, no_waiting):
    with (
        pytest.raises(GreenContextError, match=r"^28 multi.* cuDeviceGetDevResource fails with"),
        part_of_gpu(28, 1, str(divided)),
    ):
        pass


@pytest.mark.parametrize("shared_kb", [100, 164, 228])
def test_padded_blocks_share_a_multiprocessor_as_on_a_card_with_less_memory(shared_kb):
    told = calibration()
    backend = "sm80-small"
    for launch in work(backend, told.traits, 512, 512, 132):
        resources = told.resources[launch.kernel]
        wanted = resident_blocks(launch, resources, shared_kb * 1024)
        needed = measure.shared_bytes_for(wanted, launch.shared_bytes, resources, WHOLE)
        assert needed >= launch.shared_bytes
        assert needed + resources.static_shared_bytes <= H200.shared_kb * 1024
        padded = replace(launch, shared_bytes=needed)
        assert resident_blocks(padded, resources, WHOLE) == wanted, launch.layer


def test_only_the_named_layers_get_other_shared_memory():
    told = {
        "convs": {"same": {"shared_bytes": 1, "kind": 2}, "up1": {"shared_bytes": 3}},
        "first": {"shared_bytes": 4},
        "last": {"shared_bytes": 5},
        "target": "80",
    }
    changed = measure.with_shared_bytes(told, {"same": 10, "last": 50})
    assert changed == {
        "convs": {"same": {"shared_bytes": 10, "kind": 2}, "up1": {"shared_bytes": 3}},
        "first": {"shared_bytes": 4},
        "last": {"shared_bytes": 50},
        "target": "80",
    }
    assert told["convs"]["same"]["shared_bytes"] == 1


def test_a_calibration_of_other_kernels_is_refused():
    told = calibration()
    library: Any = SimpleNamespace(abi=told.traits)
    measure.check_kernels(library, told)
    sm80 = told.traits.sm80
    other = replace(sm80, convs={**sm80.convs, "up1": replace(sm80.convs["up1"], tile_h=16)})
    library = SimpleNamespace(abi=replace(told.traits, sm80=other))
    with pytest.raises(MeasuringError, match=r"first run `python -m tools\.time_model describe`$"):
        measure.check_kernels(library, told)


@pytest.fixture
def measuring(monkeypatch, no_waiting):
    """What `measure` gives over plans that launch nothing; and what it made plans of."""
    told = calibration()
    library = SimpleNamespace(abi=told.traits)
    made: list[tuple[str, int]] = []
    launches: list[int] = []

    def step(stream: ctypes.c_void_p, _: bool) -> None:
        launches.append(stream.value or 0)

    def plan(*_: Any, backend: str) -> Any:
        made.append((backend, Gpu.of(torch.device("cuda")).multiprocessors))
        return SimpleNamespace(steps=lambda: [step] * 16)

    @contextmanager
    def part(count: int, *_: Any) -> Any:
        yield count, ctypes.c_void_p(count)

    properties = SimpleNamespace(
        major=9, minor=0, shared_memory_per_block_optin=232_448, multi_processor_count=132
    )
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    monkeypatch.setattr(measure, "loaded", lambda _: library)
    monkeypatch.setattr(measure, "card_of", lambda _: H200)
    monkeypatch.setattr(measure, "available", lambda *_: BACKENDS)
    monkeypatch.setattr(measure, "plan_for", plan)
    monkeypatch.setattr(measure, "_part", part)
    monkeypatch.setattr(measure, "_limited", lambda *_: library)

    def run(wanted: Wanted) -> Any:
        lines: list[str] = []
        rows = measure.measure({}, torch.device("cuda", 0), wanted, told, lines.append)
        return SimpleNamespace(rows=rows, lines=lines, made=made, streams=set(launches))

    return run


def test_every_limit_is_measured_and_predicted(measuring):
    found = measuring(Wanted((28,), (0, 100), ("sm80", "sm80-small"), ((64, 64),)))
    described = [(row["backend"], row["multiprocessors"], row["shared_kb"]) for row in found.rows]
    assert described == [
        (backend, count, shared_kb)
        for count in (132, 28)
        for backend, shared_kb in (("sm80", 0), ("sm80-small", 0), ("sm80-small", 100))
    ]
    assert [row["all"] for row in found.rows] == [True] * 3 + [False] * 3
    assert [count for _, count in found.made] == [132] * 3 + [28] * 3
    assert found.streams == {132, 28}
    assert len(found.lines) == 6
    for row in found.rows:
        assert row["ms"] > 0
        assert len(row["layers_ms"]) == 16
        assert sum(row["predicted_layers_ms"].values()) == pytest.approx(row["predicted_ms"])
    whole, part = (found.rows[n]["predicted_ms"] for n in (0, 3))
    assert whole <= part


def test_a_backend_that_does_not_run_here_is_named(measuring, monkeypatch):
    monkeypatch.setattr(measure, "available", lambda *_: BACKENDS[1:])
    with pytest.raises(MeasuringError, match=r"^NVIDIA H200 does not run sm90$"):
        measuring(Wanted((), (0,), ("sm90", "sm80")))


def test_registers_and_shared_memory_are_read_from_an_image():
    names = b"\0.shstrtab\0.text.one\0.nv.shared.one\0.text.two\0"
    sections = [(0, 0, 0), (1, len(names), 0), (11, 800, 40 << 24 | 7), (21, 4352, 0),
                (36, 900, 255 << 24)]  # fmt: skip
    header_bytes = 64
    table_at = header_bytes + len(names)
    image = bytearray(header_bytes) + names
    struct.pack_into("<Q", image, 40, table_at)
    struct.pack_into("<HHH", image, 58, 64, len(sections), 1)
    for name, size, info in sections:
        image += struct.pack("<IIQQQQIIQQ", name, 0, 0, 0, header_bytes, size, 0, info, 0, 0)
    assert dict(kernel_resources(bytes(image))) == {"one": (40, 4352), "two": (255, 0)}


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["sm80", "sm80-small", "sm90"])
def test_a_part_of_this_gpu_paints_what_all_of_it_paints(backend, native_kernels):
    device = torch.device("cuda", torch.cuda.current_device())
    library = loaded(device)
    names = [row.name for row in measure.available(device, torch.float16, library)]
    if backend not in names:
        pytest.skip(f"{backend} does not run here")
    generator = torch.Generator().manual_seed(0)
    weights = {
        name: torch.randn(shape, generator=generator) / 30
        for name, shape in FULL.state_shapes().items()
    }
    with torch.inference_mode(), part_of_gpu(28, device.index) as (count, stream):
        assert count >= 28
        plan = plan_for(weights, 5, (1, 128, 256), torch.float16, device, library, backend=backend)
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
def test_this_gpu_is_measured_on_all_and_on_some_multiprocessors(native_kernels):
    device = torch.device("cuda", torch.cuda.current_device())
    generator = torch.Generator().manual_seed(0)
    weights = {
        name: torch.randn(shape, generator=generator) / 30
        for name, shape in FULL.state_shapes().items()
    }
    wanted = Wanted((16,), (0, 100), ("sm80-small",), ((256, 256),))
    rows = measure.measure(weights, device, wanted, calibration(), lambda _: None)
    assert len(rows) == 4
    assert [row["all"] for row in rows] == [True, True, False, False]
    assert all(row["ms"] > 0 and min(row["layers_ms"].values()) > 0 for row in rows)
