"""`styleforge bench` measures what it reports, compares like with like, and saves its results."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import nn

from app.cli import main
from app.commands import bench
from benchmarks.network import measure as bench_network
from benchmarks.network.candidates import (
    BASELINE,
    COMPILED,
    GRAPHED,
    REWRITTEN,
)
from benchmarks.network.measure import supported_precisions
from benchmarks.tables.network import COLUMNS
from benchmarks.tables.pages import markdown
from models.network_config import NetworkConfig
from models.runtimes.table import RUNTIMES
from models.transformer_net import VARIANTS, TransformerNetBaseline
from tests.conftest import add_style
from tests.helpers.errors import mentions

CPU = torch.device("cpu")
ROOT = Path(__file__).resolve().parents[3]
STYLE = "sketch"


class TrainingRequest:
    """The arguments that measure a small style, and the resulting report."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "figures.json"
        add_style(folder / "data" / "styleforge", STYLE, 0, NetworkConfig(num_residual_blocks=1))

    def __call__(self, device: str) -> list[str]:
        return ["bench", "--style", STYLE, "--json", str(self._file), "--device", device]

    def report(self) -> dict[str, Any]:
        return json.loads(self._file.read_text("utf-8"))


@pytest.fixture
def order(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return TrainingRequest(tmp_path)


@pytest.fixture
def measured(order):
    """Return a function that returns the CPU's report: `measured("--sizes", ...)`."""

    def measure(*arguments: str) -> dict[str, Any]:
        assert main([*order("cpu"), *arguments]) == 0
        return order.report()

    return measure


def rows_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    (size,) = report["sizes"]
    return size["rows"]


def test_every_variant_is_measured_and_where_and_how_is_stored(measured, capsys):
    report = measured("--sizes", "32x24", "--runs", "2", "--precision", "FP32,bf16")
    (size,) = report["sizes"]
    assert (size["width"], size["height"]) == (32, 24)
    assert [(row["kernels"], row["precision"]) for row in size["rows"]] == [
        (key, precision) for precision in ("FP32", "BF16") for key in VARIANTS
    ]
    for row in size["rows"]:
        assert row["p20_ms"] <= row["median_ms"] <= row["p80_ms"]
        assert row["iterations"] == 2
        assert row["difference"] >= 0
        assert row["floor_ms"] is row["tf32"] is row["pytorch_gain"] is None
    first = size["rows"][0]
    assert first["kernels_gain"] == first["precision_gain"] == 1
    assert first["difference"] < 0.05, "FP32 and float64 are the same network"
    assert report["machine"]["cpu"]
    assert report["versions"]["torch"] == torch.__version__
    table = markdown(report)
    assert "**32x24**" in table
    absent = {column for column in COLUMNS if f" {column} " not in table}
    assert absent == {"vs PyTorch", "% of floor", "peak MB"}, "not measured on the CPU"
    out = capsys.readouterr().out
    assert "Baseline" in out
    assert "BF16" in out


def test_by_default_the_cpu_is_measured_in_the_precisions_that_it_may_offer(measured, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    rows = rows_of(measured("--sizes", "32x24", "--runs", "1", "--kernels", "fused"))
    assert [row["precision"] for row in rows] == ["FP32", "BF16"]


def test_a_precision_that_the_cpu_refuses_is_measured_if_it_is_named(measured):
    flags = ("--sizes", "32x24", "--runs", "1", "--kernels", "fused", "--precision", "amp")
    (row,) = rows_of(measured(*flags))
    assert row["iterations"] == 1
    assert mentions(row["remark"], "AMP is slower")


@pytest.mark.full
def test_runtimes_of_others_are_rows_of_the_same_table(measured, capsys):
    arguments = "--sizes", "32x24", "--runs", "2", "--precision", "fp32,bf16", "--kernels", "all"
    rows = {(row["kernels"], row["precision"]): row for row in rows_of(measured(*arguments))}
    there = {key for key, runtime in RUNTIMES.items() if not runtime.refusal()}
    assert {"openvino", "onnxruntime"} <= there
    assert {key for key, _ in rows} == {*VARIANTS, *there}
    for key in ("openvino", "onnxruntime"):
        row = rows[key, "FP32"]
        assert row["title"] == RUNTIMES[key].title
        assert row["difference"] < 0.05
        assert row["iterations"] == 2
        assert row["kernels_gain"] > 0
    assert mentions(rows["onnxruntime", "BF16"]["not_run"], "ONNX Runtime CPU", "FP32", "BF16")
    assert "Not run: ONNX" in capsys.readouterr().out


def test_a_network_that_errs_has_its_error_told(measured, monkeypatch):
    fused = VARIANTS["fused"]
    forward = fused.forward

    def five_too_bright(self, x, mark=None):
        return forward(self, x, mark) + 5.0

    monkeypatch.setattr(fused, "forward", five_too_bright)
    report = measured("--sizes", "32x24", "--runs", "2", "--precision", "fp32")
    errors = {row["kernels"]: (row["difference"], row["psnr"]) for row in rows_of(report)}
    difference, psnr = errors.pop("fused")
    assert difference == pytest.approx(5.0, abs=0.05)
    assert psnr == pytest.approx(20 * math.log10(255 / 5), abs=1.0)  # clamped values differ less
    assert all(difference < 0.05 and psnr > 80 for difference, psnr in errors.values())


@pytest.mark.full
def test_what_is_compiled_is_compared_with_what_runs_as_it_is(measured, monkeypatch):
    seen: list[tuple[nn.Module, dict[str, Any]]] = []

    def compile_(network: nn.Module, **how: Any) -> nn.Module:
        seen.append((network, how))
        return network

    monkeypatch.setattr(torch, "compile", compile_)
    arguments = "--sizes", "32x24", "--runs", "2", "--precision", "fp32,bf16"
    report = measured(*arguments, "--compile", "max-autotune", "--compile-precision", "bf16")
    rows = {(row["kernels"], row["precision"]): row for row in rows_of(report)}
    keys = {precision: {k for k, p in rows if p == precision} for precision in ("FP32", "BF16")}
    assert keys == {"FP32": set(VARIANTS), "BF16": {*VARIANTS, COMPILED, REWRITTEN}}
    best = min(rows[key, "BF16"]["median_ms"] for key in (BASELINE, COMPILED, REWRITTEN))
    for (_, precision), row in rows.items():
        expected = best / row["median_ms"] if precision == "BF16" else None
        assert row["pytorch_gain"] == expected
    assert rows[REWRITTEN, "BF16"]["psnr"] > 30
    assert "vs PyTorch" in markdown(report)
    assert [next(network.parameters()).dtype for network, _ in seen] == [torch.bfloat16] * 2
    for _, how in seen:
        assert how["dynamic"] is False
        assert how["options"]["max_autotune"] is True
        assert how["options"]["max_autotune_report_choices_stats"] is False
        assert how["options"]["autotune_num_choices_displayed"] == 0
        assert "triton.cudagraphs" not in how["options"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--compile-precision", "fp32"], "needs --compile"),
        (
            ["--compile", "--compile-precision", "fp32,bf16", "--precision", "fp32"],
            "has bf16, which --precision leaves out",
        ),
        (["--precision", "tf32"], "cpu does not support tf32"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, says, capsys):
    assert main(["bench", "--device", "cpu", *arguments]) == 1
    assert says in capsys.readouterr().err


def test_what_cannot_run_says_why_in_its_row(measured, monkeypatch):
    def forward(self: TransformerNetBaseline, x: torch.Tensor, mark: object = None) -> None:
        raise RuntimeError("no such instruction\nlong C++ trace")

    monkeypatch.setattr(VARIANTS["fused"], "forward", forward)
    report = measured("--sizes", "16x16", "--runs", "1", "--precision", "fp32")
    (row,) = (row for row in rows_of(report) if row["kernels"] == "fused")
    assert row["not_run"] == "no such instruction"
    assert mentions(markdown(report), "Not run: Fused, FP32", "no such instruction")


def test_what_would_take_too_long_is_not_run(measured, monkeypatch):
    monkeypatch.setattr(bench_network, "MAX_SECONDS", 0.0)
    rows = rows_of(measured("--sizes", "16x16", "--runs", "1", "--precision", "fp32"))
    assert all("one picture would take" in row["not_run"] for row in rows)


@pytest.mark.full
def test_a_run_that_is_stopped_keeps_the_sizes_it_has(order, monkeypatch):
    measure, done = bench._measure, []

    def once(*arguments: Any) -> dict[str, Any]:
        if done:
            raise KeyboardInterrupt
        done.append(True)
        return measure(*arguments)

    monkeypatch.setattr(bench, "_measure", once)
    arguments = "--sizes", "16x16,32x32", "--runs", "1", "--precision", "fp32"
    assert main([*order("cpu"), *arguments]) == 130
    assert [size["width"] for size in order.report()["sizes"]] == [16]


@pytest.mark.parametrize(
    ("place", "says"),
    [("no/x.json", "does not exist"), ("", "is a folder"), ("wall/x.json", "does not exist")],
)
def test_what_cannot_be_stored_is_refused_before_measuring(tmp_path, capsys, place, says):
    (tmp_path / "wall").write_text("a file where a folder should be")
    assert main(["bench", "--json", str(tmp_path / place)]) == 1
    printed = capsys.readouterr()
    assert says in printed.err
    assert not printed.out


def test_a_size_that_does_not_fit_into_memory_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(bench, "free_bytes", lambda device: 10_000_000)
    assert main(["bench", "--sizes", "64x64,1000x1000", "--device", "cpu"]) == 1
    printed = capsys.readouterr()
    assert mentions(printed.err, "1000x1000", "not fit")
    assert not printed.out


@pytest.mark.full
def test_a_precision_that_does_not_fit_into_memory_is_not_run(measured, monkeypatch):
    for module in (bench, bench_network):
        monkeypatch.setattr(module, "free_bytes", lambda device: 32 * 32 * 5000)
    rows = rows_of(measured("--sizes", "32x32", "--runs", "1", "--precision", "fp32,fp16"))
    assert {row["precision"] for row in rows if "not_run" in row} == {"FP16"}
    assert all("more than is available" in row["not_run"] for row in rows if "not_run" in row)


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_a_narrow_screen_cuts_no_figure(width):
    row = {
        "title": "Fused norm",
        "precision": "FP32",
        **dict.fromkeys(("median_ms", "p20_ms", "p80_ms"), 123.0),
        **dict.fromkeys(("kernels_gain", "pytorch_gain", "precision_gain"), 1.23),
        "floor_ms": 61.5,
        "difference": 0.00042,
        "psnr": 134.0,
        "peak_mb": 789.0,
    }
    screen = Console(width=width, file=io.StringIO())
    screen.print(bench._table("64x64", [row], screen.width), crop=False)
    last = screen.file.getvalue().splitlines()[-1]  # pyright: ignore[reportAttributeAccessIssue]
    expected = "Fused norm FP32 123 123-123 1.23x 1.23x 1.23x 50 % 0.00042 134 789"
    assert last.split() == expected.split()


@pytest.mark.gpu
@pytest.mark.timeout(400)
def test_on_a_gpu_all_of_it_is_measured(order, native_kernels):
    arguments = "--sizes", "72x50", "--runs", "3", "--compile", "--compile-precision", "fp16"
    # The compiler leaves threads behind, so it runs in a separate process.
    done = subprocess.run(
        [sys.executable, "-m", "app", *order("cuda:0"), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (size,) = order.report()["sizes"]
    rows = {(row["kernels"], row["precision"]): row for row in size["rows"]}
    assert not [row["not_run"] for row in size["rows"] if "not_run" in row]
    known = supported_precisions(torch.device("cuda:0"))
    assert {precision for _, precision in rows} == {a.title for a in known.values()}
    ways = {key for key, precision in rows if precision == "FP16"}
    assert ways == {*VARIANTS, GRAPHED, COMPILED, REWRITTEN}
    assert all(row["psnr"] > 30 for row in size["rows"])
    assert all(row["tf32"] is (row["precision"] == "TF32") for row in size["rows"])
    best = max(
        rows[key, "FP16"]["pytorch_gain"] for key in (BASELINE, GRAPHED, COMPILED, REWRITTEN)
    )
    assert best == 1


@pytest.mark.gpu
def test_on_a_gpu_frames_are_timed_alone_and_overlapped(order, native_kernels):
    assert main([*order("cuda:0"), "--frames", "--sizes", "72x50"]) == 0
    (row,) = order.report()["frames"]
    assert (row["width"], row["height"], row["precision"]) == (72, 50, "FP16")
    # The machine decides which is shorter: small pictures gain nothing from overlapping.
    assert row["latency"]["median_ms"] > 0
    assert row["interval"]["median_ms"] > 0
    steps = {row["step"]: row["median_ms"] for row in order.report()["steps"]}
    assert {"texture", "strokes, follow", "motion", "matte and mix"} < {*steps}
    assert all(median > 0 for median in steps.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_frame_to_frame_says_why_not(order, capsys):
    assert main([*order("cpu"), "--frames"]) == 1
    assert "no native network" in capsys.readouterr().err
