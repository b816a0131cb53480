"""The benchmark of the operations: its table, its refusals, and one case on a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from app.cli import main
from benchmarks.operations import program, style_cases, transformer_cases
from benchmarks.operations.case import Case, Draw, Run, in_float64, results
from benchmarks.operations.program import GRAPH, OURS, OURS_GRAPH, OWN_GRAPH
from kernels.table.registry import GENERAL, OPS, TRANSFORMER

STORED = Path(__file__).parents[3] / "benchmarks" / "reports" / "operations.json"


@pytest.fixture
def stored():
    return json.loads(STORED.read_text("utf-8"))


def test_every_stored_gain_has_its_error_beside_it(stored):
    for row in stored["rows"]:
        line = program.table_row(row)
        assert len(line) == len(program.HEADER)
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
    draw = Draw(torch.device("cpu"), "FP32")
    named = {op.name for op in OPS.values() if op.family == TRANSFORMER}
    assert named == set(transformer_cases.OPERATIONS)
    makers = {
        "attention": lambda: transformer_cases.attention(draw, 40, 32),
        "shared keys": lambda: transformer_cases.shared_keys(draw, 40, 10),
        "rung": lambda: transformer_cases.rung(draw, 40, "2"),
        "module": lambda: transformer_cases.module(draw, 40),
        "feed-forward": lambda: transformer_cases.ffn(draw, 40),
        "projection": lambda: transformer_cases.projection(draw, 40),
        "token norm": lambda: transformer_cases.token_norm(draw, 40),
        "pooled norm": lambda: transformer_cases.pooled_norm(draw, 6),
        "margin": lambda: transformer_cases.margin(draw, 8, 6),
        "phases": lambda: transformer_cases.phases(draw, 8, 6),
        "depthwise": lambda: transformer_cases.depthwise(draw, 8, 6),
        "statistics": lambda: transformer_cases.statistics(draw, 8, 6),
        "moments": lambda: transformer_cases.moments(draw, 8, 6),
        "by moments": lambda: transformer_cases.norm_by_moments(draw, 8, 6),
    }
    with torch.inference_mode():
        for make in makers.values():
            assert_close_to_exact(make(), 1e-4)


def assert_close_to_exact(case: Case, tolerance: float) -> None:
    exact = results((case.exact or case.eager)(*in_float64(case.given)))
    ways: list[Run] = [case.ours, case.eager, *([case.own] if case.own else [])]
    for way in ways:
        for found, expected in zip(results(way(*case.given)), exact, strict=True):
            torch.testing.assert_close(
                found.double(), expected.double(), atol=tolerance, rtol=tolerance
            )


def test_the_operations_of_style_networks_are_what_their_cases_say():
    draw = Draw(torch.device("cpu"), "FP32")
    for layout in ("NCHW", "NHWC"):
        given = style_cases._layer(draw, layout, 8, 16, 12, 3)
        made = (
            style_cases.norm(draw, layout, 8, 12),
            style_cases.convolution(given[:3], "", "FP32", layout, 2),
            style_cases.unit(given, "", "FP32", layout, 2),
            style_cases.unit(given, "", "FP32", layout, enlarges=True),
            style_cases.block(draw, layout, 8, 12),
        )
        with torch.inference_mode():
            for case in made:
                assert_close_to_exact(case, 1e-4)
                assert case.own is None or "CPU" in case.why_not()


def test_without_a_gpu_the_operations_of_transformers_alone_are_measured(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(transformer_cases, "ON_CPU", 16)
    monkeypatch.setattr(program, "MOST_CALLS", 1)
    stored = tmp_path / "operations.json"
    flags = ["--operations", "--device", "cpu", "--runs", "1", "--json", str(stored)]
    assert main(["bench", *flags]) == 0
    report = json.loads(stored.read_text("utf-8"))
    assert {row["operation"] for row in report["rows"]} >= {"attention", "feed-forward"}
    told = {status["name"] for status in report["kernels"]}
    assert told == {op.name for op in OPS.values() if op.family != GENERAL}
    for row in report["rows"]:
        assert set(row["us"]) == {"PyTorch", OURS}
        unit = {"FP32": 1e-6, "FP16": 2**-10, "BF16": 2**-7}[row["precision"]]
        assert row["error"] <= 2 * row["their_error"] + unit
    assert "feed-forward 16 of" in capsys.readouterr().out


def test_what_has_no_cases_of_its_own_is_measured_on_its_samples(monkeypatch):
    device = torch.device("cpu")
    assert not list(style_cases.sampled_cases(device))
    monkeypatch.setattr(style_cases, "WRITTEN_OUT", ())
    found = list(style_cases.sampled_cases(device))
    assert {case.operation for case in found} == {
        op.name for op in OPS.values() if op.cuda and not op.mutates and op.family != GENERAL
    }
    for case in {case.operation: case for case in found}.values():
        # The last sample is in BF16 or FP16.
        assert case.precision in ("FP16", "BF16")
        assert_close_to_exact(case, 0.1)


@pytest.mark.gpu
@pytest.mark.parametrize("number", [0, 12])
def test_a_case_is_measured_every_way(number):
    device = torch.device("cuda")
    with torch.inference_mode():
        case = list(style_cases.cases(device))[number]
        row = program.measured(case, device, runs=2, compiles=False)
    assert {"PyTorch", GRAPH, OURS, OURS_GRAPH} <= set(row["us"])
    assert row["error"] <= 2 * row["their_error"] + 1e-6
