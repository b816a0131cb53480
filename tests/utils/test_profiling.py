"""Ranges cost nothing without CUDA, and the profiler's record exists after its block."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
import torch

from kernels.table.registry import STYLE, prepare
from models.transformer_net import VARIANTS
from utils import profiling
from utils.profiling import nvtx_range, profiled, recorded, summary


def test_without_cuda_a_range_does_nothing_and_starts_nothing() -> None:
    if torch.cuda.is_initialized():
        pytest.skip("CUDA is in use")
    assert isinstance(nvtx_range("encoder"), contextlib.nullcontext)
    assert not torch.cuda.is_initialized()


@pytest.mark.parametrize("key", VARIANTS)
def test_the_groups_of_the_network_are_ranges(key: str, monkeypatch) -> None:
    events: list[str] = []

    @contextlib.contextmanager
    def noted(name: str):
        events.append(f"begin {name}")
        yield
        events.append(f"end {name}")

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda.nvtx, "range", noted)
    with torch.no_grad():
        VARIANTS[key](1)(torch.rand(1, 3, 16, 16))
    groups = ("encoder", "residual blocks", "decoder")
    assert events == [f"{word} {group}" for group in groups for word in ("begin", "end")]


def test_the_layers_of_the_native_network_are_recorded_while_a_profiler_records() -> None:
    assert isinstance(recorded("layer"), contextlib.nullcontext), "nothing records"
    prepare(family=STYLE)
    network = VARIANTS["fused"](1)
    with torch.no_grad(), profiled() as profiler:
        network(torch.rand(1, 3, 16, 16))
    names = {event.key for event in profiler.key_averages()}
    layers = ("conv1", "conv2", "conv3", "res1.conv1", "res1.conv2", "deconv1", "deconv3")
    assert {f"styleforge::{layer}" for layer in layers} <= names


def test_ranges_do_not_break_a_compiled_graph(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)

    def run(x: torch.Tensor) -> torch.Tensor:
        with nvtx_range("group"):
            return x + 1

    compiled = torch.compile(run, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
    torch._dynamo.reset()


def test_what_ran_within_is_recorded_and_listed(tmp_path: Path) -> None:
    x = torch.rand(32, 32)
    with profiled(tmp_path / "trace.json", shapes=True) as profiler:
        torch.mm(x, x)
    assert "aten::mm" in summary(profiler)
    assert "aten::mm" not in summary(profiler, rows=0)
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    assert any(event.get("name") == "aten::mm" for event in events)


def test_a_timeline_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), profiled(tmp_path / "none" / "trace.json"):
        torch.ones(1)


@pytest.mark.cuda
def test_on_a_gpu_its_kernels_are_recorded() -> None:
    x = torch.rand(64, 64, device="cuda")
    assert not isinstance(profiling.nvtx_range("group"), contextlib.nullcontext)
    with profiled() as profiler, nvtx_range("group"):
        torch.mm(x, x)
    assert "CUDA" in summary(profiler)
