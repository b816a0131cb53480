"""`python -m kernel_fusion bench`: its measurements, its files, and the page that shows them."""

from __future__ import annotations

import copy
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.operations import command, library_cases, measure, optimizers, ways
from benchmarks.operations.case import Case, results
from benchmarks.operations.ways import OURS, error, timed
from benchmarks.tables.library import HEADER, library_table
from benchmarks.tables.pages import markdown, refreshed
from kernel_fusion.__main__ import main
from kernels.table.registry import GENERAL, OPS

CPU = torch.device("cpu")
FP32 = {"FP32": torch.float32}
ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "kernel_fusion" / "library-benchmarks.md"
FLAGS = ("--device", "cpu", "--sizes", "32x64", "--runs", "2")


def test_what_was_written_for_the_cpu_alone_is_timed_there_alone():
    on = {
        device: {op.name for op in library_cases.operations(device=device)}
        for device in ("cpu", "cuda")
    }
    assert on["cpu"] - on["cuda"] == {"dropout_masked"}
    assert on["cuda"] < on["cpu"]


def test_an_operation_is_measured_by_being_registered():
    cases = list(library_cases.cases(CPU, library_cases.operations(), [(32, 64), (8, 32)], FP32))
    names = [case.operation for case in cases]
    assert set(names) == {
        op.name for op in OPS.values() if op.family == GENERAL and not op.mutates
    } - {name for name in OPS if name.endswith("_backward")}
    assert all(names.count(name) == 2 and OPS[name].timed is not None for name in names)


def test_pytorchs_calls_mean_what_the_operation_means():
    cases = library_cases.cases(
        CPU, library_cases.operations(), [(32, 64)], {"FP64": torch.float64}
    )
    for case in cases:
        if not case.is_random:
            pairs = zip(
                results(case.eager(*case.given)),
                results(case.ours(*case.given)),
                strict=True,
            )
            for theirs, ours in pairs:
                torch.testing.assert_close(theirs, ours, msg=case.operation)


def test_what_a_row_does_not_say_is_measured_on_its_largest_sample():
    (op,) = (op for op in OPS.values() if op.name == "row_norm_backward")
    (case,) = library_cases.cases(CPU, [op], [(32, 64), (8, 8)], FP32)
    assert case.shape == "300x136"
    assert case.eager is op.reference
    row = measure.measured(case, CPU, 1, compiles=False)
    assert row["forward"]["error"]["eager"] < 1e-5


@pytest.mark.usefixtures("native_kernels")  # PyTorch's calls save other tensors
@pytest.mark.parametrize(
    ("name", "tensors"), [("add_relu", 2), ("multiply_relu", 5), ("gelu_dropout", 3)]
)
def test_backward_has_to_read_what_it_kept_and_writes_a_shared_gradient_once(name, tensors):
    (case,) = library_cases.cases(CPU, [OPS[name]], [(64, 256)], FP32)
    _, needed = measure._backward(case, case.ours, case.given)
    bits = 0 if name == "multiply_relu" else 64 * 256 // 8
    assert needed == tensors * 64 * 256 * 4 + bits


def test_large_sizes_are_measured_where_they_are_asked_for_and_both_ways_together():
    row = OPS["cross_entropy"]
    assert row.timed is not None
    assert [make.args for make in _large("cross_entropy")] == [(8192, 128256)]
    sizes = [(8192, 128256, 1024), (8192, 128256, 4096)]
    assert [make.args for make in _large("linear_cross_entropy")] == sizes
    small = row.timed._replace(large=(partial(row.timed.arguments, 4, 3),))
    op = copy.copy(row)
    op.timed = small
    precisions = {"FP32": torch.float32, "BF16": torch.bfloat16}
    given = CPU, [op], [(16, 8)], precisions
    assert [case.shape for case in library_cases.cases(*given)] == ["16x128"] * 2
    cases = list(library_cases.cases(*given, has_large=True))
    assert [case.shape for case in cases] == ["16x128"] * 2 + ["4x48"] * 2
    directions = [
        [name for name in ("forward", "backward", "both") if name in found]
        for found in (measure.measured(case, CPU, 1, compiles=False) for case in cases[::2])
    ]
    assert directions == [["forward", "backward"], ["forward", "backward", "both"]]


def _large(name: str) -> list[partial[Any]]:
    row = OPS[name].timed
    assert row is not None
    return [make for make in row.large if isinstance(make, partial)]


def test_a_report_has_times_errors_and_rates_of_both_directions(tmp_path, capsys):
    stored = tmp_path / "library.json"
    given = ["bench", "--group", "fusion", *FLAGS, "--no-compile", "--json", str(stored)]
    assert main(given) == 0
    report = json.loads(stored.read_text("utf-8"))
    assert report["machine"]["gpu"] is None
    assert report["versions"]["torch"] == torch.__version__
    assert len(report["library"]) == 6 * 3
    for row in report["library"]:
        unit = {"FP32": 1e-5, "FP16": 2**-9, "BF16": 2**-6}[row["precision"]]
        for found in (row["forward"], row["backward"]):
            assert set(found["ms"]) == {"ours", "eager"}
            assert found["not_compiled"] == "was not asked for"
            assert found["of_copy"] > 0
            assert found["error"]["ours"] <= 2 * found["error"]["eager"] + unit
    lines = library_table(report["library"])
    assert len(lines) == 1 + 2 * len(report["library"])
    assert "| layer_norm_relu | 32x64 | FP32 | forward |" in markdown(report)
    assert "compiled, ms" not in markdown(report)
    assert "layer_norm_relu  32x64  FP32  forward" in capsys.readouterr().out


def test_what_forward_computes_of_the_gradients_is_timed_with_backward():
    (case,) = library_cases.cases(CPU, [OPS["linear_cross_entropy"]], [(32, 16)], FP32)
    row = measure.measured(case, CPU, 1, compiles=False)
    assert set(row) >= {"forward", "both"}
    assert "backward" not in row
    assert row["both"]["error"]["ours"] < 1e-5
    assert [line[3] for line in library_table([row])[1:]] == ["forward", "both"]


def test_no_gradient_is_taken_by_what_a_model_has_none_of():
    (case,) = library_cases.cases(CPU, [OPS["conv2d_bn_relu"]], [(64, 64)], FP32)
    given = measure.following(case, case.given)
    assert [x.requires_grad for x in given if isinstance(x, torch.Tensor)] == [True] * 4 + [
        False
    ] * 2
    (case,) = library_cases.cases(CPU, [OPS["transformer_layer"]], [(8, 16)], FP32)
    assert all(x.requires_grad for x in measure.following(case, case.given)[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_steps_are_measured_against_both_of_pytorchs_ways(dtype):
    rows = list(optimizers.measured_optimizers(CPU, [(64, 32)], {"any": dtype}, 1))
    found = {row["operation"]: row["step"] for row in rows}
    assert set(found) == {"FusedAdam", "FusedAdamW", "FusedSGD", "clip_grad_norm"}
    for name, step in found.items():
        timed = {"ours", "eager"} if name == "clip_grad_norm" else {"ours", "eager", "fused"}
        assert set(step["ms"]) == set(step["error"]) == timed
        assert step["error"]["ours"] <= 2 * step["error"]["eager"] + torch.finfo(dtype).eps
        assert 0 < step["error"]["eager"] < 0.2
        assert step["of_copy"] > 0
    assert rows[0]["shape"] == "16 up to 8x32"
    header, *lines = library_table(rows)
    assert lines[0][3] == "step"
    assert float(lines[0][header.index("fused, ms")]) > 0


def test_products_are_measured_on_sizes_of_their_own():
    chosen = [OPS["ffn"], OPS["mean_abs"]]
    given = CPU, chosen, [(8, 16), (16, 16), (32, 16)], FP32
    found = [(case.operation, case.shape) for case in library_cases.cases(*given, [(8, 16)])]
    assert found == [("ffn", "64x16"), *(("mean_abs", f"{rows}x16") for rows in (8, 16, 32))]
    assert len(list(library_cases.cases(*given))) == 6


@pytest.mark.parametrize(
    ("call_ms", "runs", "repeats"),
    [(0.01, 50, 10), (0.0, 50, 10), (0.2, 30, 5), (0.9, 33, 1), (4, 7, 1), (40, 5, 1)],
)
def test_the_longer_a_call_of_a_gpu_takes_the_fewer_are_timed(call_ms, runs, repeats):
    assert ways.rounds_of(call_ms, 50) == (runs, repeats)
    assert ways.rounds_of(call_ms, 3).runs == 3


@pytest.mark.parametrize(("call_ms", "runs"), [(0.0, 15), (600, 15), (2000, 5), (60_000, 3)])
def test_a_call_of_a_cpu_that_takes_seconds_is_timed_a_few_times(call_ms, runs):
    assert ways.runs_on_cpu(call_ms, 15) == runs
    assert ways.runs_on_cpu(call_ms, 2) == 2


def test_the_report_of_a_cpu_says_how_many_runs_were_timed(monkeypatch):
    monkeypatch.setattr(ways, "BUDGET_ON_CPU_MS", 0.0)
    x, counts = torch.ones(8), []
    found = ways.timed({ways.OURS: lambda: counts.append(x + x)}, [x], 96, CPU, 9)
    assert (found["runs"], len(counts)) == (ways.LEAST_ON_CPU, 1 + ways.LEAST_ON_CPU)


def test_a_list_of_tensors_is_compared_with_a_copy_of_all_of_their_bytes(monkeypatch):
    copied: list[int] = []

    def record(_: Any, largest: list[torch.Tensor], *rest: Any) -> dict[str, Any]:
        copied.append(ways.size_of(largest))
        return {}

    monkeypatch.setattr(measure, "timed", record)
    (case,) = library_cases.cases(CPU, [OPS["total_norm"]], [(32, 64)], FP32)
    measure.measured(case, CPU, 1, compiles=False)
    assert copied == [sum(x.numel() for x in case.given[0]) * 4]
    call, moved = ways._copy([torch.zeros(3, 5), torch.zeros(7)])
    call()
    assert moved == 2 * 22 * 4


def test_a_run_that_is_cut_keeps_what_it_has_measured(tmp_path, monkeypatch):
    """It stores the results after every operation and marks them as incomplete."""
    stored = tmp_path / "library.json"
    seen: list[dict[str, Any]] = []

    def cut(case: Case, *given: Any) -> dict[str, Any]:
        if case.operation == "mean_abs":
            seen.append(json.loads(stored.read_text("utf-8")))
            raise KeyboardInterrupt
        return measured(case, *given)

    measured = command.measured
    monkeypatch.setattr(command, "measured", cut)
    flags = ["--group", "reduction", *FLAGS, "--precisions", "fp32", "--no-compile"]
    with pytest.raises(KeyboardInterrupt):
        main(["bench", *flags, "--json", str(stored)])
    (found,) = seen
    assert json.loads(stored.read_text("utf-8")) == found
    assert [row["operation"] for row in found["library"]] == ["sum_squared"]
    assert found["incomplete"] == "1 of 2 operations"
    assert "The run was cut: 1 of 2 operations." in markdown(found)
    monkeypatch.setattr(command, "measured", measured)
    assert main(["bench", *flags, "--json", str(stored)]) == 0
    whole = json.loads(stored.read_text("utf-8"))
    assert len(whole["library"]) == 2
    assert "incomplete" not in whole
    assert "cut" not in markdown(whole)


def test_several_groups_are_measured_by_one_call():
    names = {op.group for op in library_cases.operations("reduction,text")}
    assert names == {"reduction", "text"}
    assert library_cases.operations("text,reduction") == library_cases.operations("reduction,text")


def test_optimizers_are_measured_one_by_one():
    given = CPU, [(16, 8)], FP32, 1
    (row,) = optimizers.measured_optimizers(*given, ["FusedSGD"])
    assert row["operation"] == "FusedSGD"
    assert set(optimizers._cases(False)) == set(optimizers.OPTIMIZERS)


def test_what_the_compiler_refuses_is_told(monkeypatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no compiler\nhere")

    monkeypatch.setattr(torch, "compile", lambda run, **_: refuse)
    (case,) = library_cases.cases(CPU, [OPS["sum_squared"]], [(8, 8)], FP32)
    found = measure.measured(case, CPU, 1, compiles=True)["forward"]
    assert found["not_compiled"] == "no compiler"
    assert set(found["ms"]) == {"ours", "eager"}


def test_the_compiler_is_measured_beside_the_others(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda run, **_: run)
    (case,) = library_cases.cases(CPU, [OPS["mean_abs"]], [(8, 8)], FP32)
    row = measure.measured(case, CPU, 1, compiles=True)
    header, *lines = library_table([row])
    assert header == HEADER
    assert all(math.isfinite(float(line[header.index("compiled, ms")])) for line in lines)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--group", "nothing"], "there is no group 'nothing'; expected "),
        (["--group", "text,nothing"], "there is no group 'nothing'; expected "),
        (["--sizes", "8x"], "a size is '8x'; expected rows x columns"),
        (["--device", "cuda:77"], "there is no device 'cuda:77'"),
        (["--precisions", "FP4"], "there is no precision 'FP4'; expected FP32, FP16, BF16"),
    ],
)
def test_what_it_cannot_measure_is_a_sentence(flags, said, capsys):
    assert main(["bench", "--device", "cpu", *flags]) == 2
    assert f"bench: {said}" in capsys.readouterr().err


def test_an_error_that_is_not_a_number_is_not_hidden_by_the_others():
    exact = [torch.ones(2), torch.ones(2)]
    assert error([exact[0] + 0.5, exact[1] + 0.25], exact) == 0.5
    for place in (0, 1):
        found = [x.clone() for x in exact]
        found[place][1] = math.nan
        assert math.isnan(error(found, exact))
    assert error([], []) == 0.0


@pytest.mark.gpu
def test_on_a_gpu_graphs_are_timed_and_memory_is_counted(tmp_path):
    stored = tmp_path / "library.json"
    given = ["bench", "--group", "fusion", "--device", "cuda", *FLAGS[2:], "--no-compile"]
    assert main([*given, "--json", str(stored)]) == 0
    for row in json.loads(stored.read_text("utf-8"))["library"]:
        for found in (row["forward"], row["backward"]):
            assert found["in_graph"]
            assert found["runs"] == 2
            assert found["memory_mb"]["ours"] > 0


@pytest.mark.gpu
def test_a_call_that_waits_for_the_gpu_is_timed_without_a_graph_and_none_is_begun(monkeypatch):
    given = torch.ones(64, 64, device="cuda")
    begun: list[object] = []
    begin = torch.cuda.CUDAGraph.capture_begin
    monkeypatch.setattr(
        torch.cuda.CUDAGraph,
        "capture_begin",
        lambda self, *args, **kwargs: (begun.append(self), begin(self, *args, **kwargs))[1],
    )
    side = torch.cuda.Stream()
    for call, in_graph in ((given.nonzero, False), (given.exp, True)):
        with torch.cuda.stream(side):
            found = timed({OURS: call}, [given], 1 << 14, given.device, 2)
        assert found["in_graph"] == in_graph
        assert bool(begun) == in_graph


def test_the_page_shows_the_stored_figures_or_says_that_there_are_none(tmp_path):
    text = PAGE.read_text("utf-8")
    assert text.count("<!-- figures if measured: ") == 2
    assert refreshed(text, PAGE.parent) == text
    without = refreshed(text, tmp_path)
    assert without.count("Not measured yet") == 2
    assert "no `library-cpu.json` so far" in without
    assert "no `library-cuda.json` and no `library-compiled.json`" in without


def test_the_page_has_a_row_for_every_operation_of_every_report():
    _, cpu, cuda = PAGE.read_text("utf-8").split("<!-- figures if measured: ")
    for name, text in (("cpu", cpu), ("cuda", cuda), ("compiled", cuda)):
        path = ROOT / "benchmarks" / "reports" / f"library-{name}.json"
        rows = json.loads(path.read_text("utf-8"))["library"]
        for operation in {row["operation"] for row in rows}:
            assert text.count(f"\n| {operation} |") == 1
