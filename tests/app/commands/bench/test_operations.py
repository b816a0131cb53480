"""The benchmark of the operations: its table, its refusals, and one case on a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from app.cli import main
from app.commands.bench import operations as bench_operations
from app.commands.bench import transformer_cases
from app.commands.bench.operations import GRAPH, OURS, OURS_GRAPH, OWN_GRAPH, sampled_cases
from app.commands.bench.operations import _cases as cases
from app.commands.bench.operations import _measure as measure
from kernels.table.registry import LIBRARY, OPS, TRANSFORMER

STORED = Path(__file__).parents[4] / "benchmarks" / "operations.json"


@pytest.fixture
def stored():
    return json.loads(STORED.read_text("utf-8"))


def test_every_stored_gain_has_its_error_beside_it(stored):
    for row in stored["rows"]:
        line = bench_operations.table_row(row)
        assert len(line) == len(bench_operations.HEADER)
        assert row["gain"]
        for way, gain in row["gain"].items():
            assert gain == pytest.approx(
                row["us"]["PyTorch" if way == OURS else GRAPH]["median"] / row["us"][way]["median"]
            )
        assert f"{row['error']:.1e}" in line[-1]


def test_the_stored_errors_are_near_pytorchs_own(stored):
    tf32 = 2.0**-10
    for row in stored["rows"]:
        limit = tf32 if row["precision"] == "TF32" else 2 * row["their_error"] + 1e-6
        assert row["error"] <= limit, row


def test_the_stored_report_says_where_it_is_from(stored):
    assert stored["machine"]["gpu"]
    assert stored["commit"]
    assert stored["versions"]["torch"]
    assert all(status["ready"] for status in stored["kernels"])


def test_what_our_own_kernel_leaves_to_cudnn_says_so(stored):
    for row in stored["rows"]:
        assert bool(row["why_not"]) == (OWN_GRAPH in row["us"]), row


def test_the_operations_of_transformers_are_what_their_cases_say(monkeypatch):
    monkeypatch.setattr(transformer_cases, "WIDTH", 64)
    monkeypatch.setattr(transformer_cases, "HIDDEN", 128)
    monkeypatch.setattr(transformer_cases, "HEADS", 2)
    device = torch.device("cpu")
    named = {op.name for op in OPS.values() if op.family == TRANSFORMER}
    assert named == set(transformer_cases.OPERATIONS)
    makers = {
        "attention": lambda: transformer_cases._attention(device, "FP32", 40, 32),
        "shared keys": lambda: transformer_cases._shared_keys(device, "FP32", 40, 10),
        "rung": lambda: transformer_cases._rung(device, "FP32", 40, "2"),
        "module": lambda: transformer_cases._module(device, "FP32", 40),
        "feed-forward": lambda: transformer_cases._ffn(device, "FP32", 40),
        "projection": lambda: transformer_cases._projection(device, "FP32", 40),
        "token norm": lambda: transformer_cases._token_norm(device, "FP32", 40),
        "pooled norm": lambda: transformer_cases._pooled_norm(device, "FP32", 6),
        "margin": lambda: transformer_cases._margin(device, "FP32", 8, 6),
        "phases": lambda: transformer_cases._phases(device, "FP32", 8, 6),
        "depthwise": lambda: transformer_cases._depthwise(device, "FP32", 8, 6),
        "statistics": lambda: transformer_cases._statistics(device, "FP32", 8, 6),
        "moments": lambda: transformer_cases._moments(device, "FP32", 8, 6),
        "by moments": lambda: transformer_cases._norm_by_moments(device, "FP32", 8, 6),
    }
    with torch.inference_mode():
        for make in makers.values():
            case = make()
            exact = case.reference()
            torch.testing.assert_close(case.ours(False).double(), exact, atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(case.pytorch().double(), exact, atol=1e-4, rtol=1e-4)


def test_without_a_gpu_the_operations_of_transformers_alone_are_measured(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(transformer_cases, "ON_CPU", 16)
    monkeypatch.setattr(bench_operations, "MOST_CALLS", 1)
    stored = tmp_path / "operations.json"
    flags = ["--operations", "--device", "cpu", "--runs", "1", "--json", str(stored)]
    assert main(["bench", *flags]) == 0
    report = json.loads(stored.read_text("utf-8"))
    assert {row["operation"] for row in report["rows"]} >= {"attention", "feed-forward"}
    told = {status["name"] for status in report["kernels"]}
    assert told == {op.name for op in OPS.values() if op.family != LIBRARY}
    for row in report["rows"]:
        assert set(row["us"]) == {"PyTorch", OURS}
        unit = {"FP32": 1e-6, "FP16": 2**-10, "BF16": 2**-7}[row["precision"]]
        assert row["error"] <= 2 * row["their_error"] + unit
    assert "feed-forward 16 of" in capsys.readouterr().out


def test_what_has_no_cases_of_its_own_is_measured_on_its_samples(monkeypatch):
    device = torch.device("cpu")
    assert not list(sampled_cases(device))
    monkeypatch.setattr(bench_operations, "WRITTEN_OUT", ())
    found = list(sampled_cases(device))
    assert {case.operation for case in found} == {
        op.name for op in OPS.values() if op.cuda and not op.mutates and op.family != LIBRARY
    }
    for case in {case.operation: case for case in found}.values():
        # The last sample is in BF16 or FP16.
        assert case.precision in ("FP16", "BF16")
        torch.testing.assert_close(case.ours(False).double(), case.reference(), atol=0.1, rtol=0.1)


@pytest.mark.gpu
@pytest.mark.parametrize("number", [0, 12])
def test_a_case_is_measured_every_way(number):
    device = torch.device("cuda")
    with torch.inference_mode():
        case = list(cases(device))[number]
        row = measure(case, device, runs=2, compiled=False)
    assert {"PyTorch", GRAPH, OURS, OURS_GRAPH} <= set(row["us"])
    assert row["error"] <= 2 * row["their_error"] + 1e-6
