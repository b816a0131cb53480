"""Stored reports, including old ones, are read as tables, and the benchmark page shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.tables.any_style import any_style_table
from benchmarks.tables.devices import devices_table
from benchmarks.tables.library_page import (
    error_table,
    group_tables,
    library_summary,
    not_finite,
    slower,
)
from benchmarks.tables.mattes import mattes_table
from benchmarks.tables.network import frames_table, steps_table, table
from benchmarks.tables.pages import main, markdown, refreshed
from benchmarks.tables.quality import quality_markdown
from tests.helpers.errors import mentions

ROOT = Path(__file__).resolve().parents[3]
REPORTS = ROOT / "benchmarks" / "reports"
OLD = {
    "title": "Fused",
    "precision": "FP16",
    **dict.fromkeys(("median_ms", "p20_ms", "p80_ms"), 0.5),
    **dict.fromkeys(("kernels_gain", "precision_gain"), 2.0),
    "difference": 0.4,
    "psnr": 74.0,
    "peak_mb": 82.0,
}


def test_the_page_of_benchmarks_shows_the_stored_figures():
    page = ROOT / "docs" / "reference" / "benchmarks.md"
    text = page.read_text("utf-8")
    assert text.count("<!-- figures: ") == 18
    assert refreshed(text, page.parent) == text


def test_a_report_of_before_a_column_was_added_still_reads():
    report = json.loads((REPORTS / "h200.json").read_text("utf-8"))
    for size in report["sizes"]:
        for row in size["rows"]:
            for added in ("floor_ms", "pytorch_gain", "tf32"):
                row.pop(added, None)
    text = markdown(report)
    assert "% of floor" not in text
    assert "vs PyTorch" not in text


@pytest.mark.parametrize(
    "stored",
    ["[]", "7", '"live"', "{}", '{"machine": 1, "versions": []}', "[" * 100_000, '{"sizes": ['],
)
def test_what_is_no_report_leaves_the_file_as_it_is_with_a_sentence(stored, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("<!-- figures: report.json -->\nold\n<!-- end of figures -->\n")
    (tmp_path / "report.json").write_text(stored)
    assert main([str(page)]) == 1
    assert "\nold\n" in page.read_text()
    said = capsys.readouterr().err
    assert mentions(said, str(page), "left as it")
    assert said.count("\n") == 1


def test_the_floor_is_told_in_percent_of_the_speed_it_allows():
    header, old, new = table([OLD, OLD | {"floor_ms": 0.1, "pytorch_gain": 1.5}])
    assert dict(zip(header, new, strict=True))["% of floor"] == "20 %"
    assert dict(zip(header, new, strict=True))["vs PyTorch"] == "1.50x"
    assert dict(zip(header, old, strict=True))["% of floor"] == "-"


def test_frame_to_frame_is_told_with_its_spread():
    times = {"median_ms": 1.234, "p20_ms": 1.2, "p80_ms": 1.3, "p95_ms": 1.5}
    size = {"width": 64, "height": 48, "precision": "FP16"}
    _, line = frames_table([{**size, "fps": 950.4, "interval": times, "latency": times}])
    assert line == ("64x48", "FP16", "950", *["1.23", "1.2-1.3", "1.5"] * 2)
    texture = {"off": {"median_ms": 0.5}, "on": {"median_ms": 0.51}}
    row = {**size, "fps": 950.4, "interval": times, "latency": times, "texture": texture}
    header, line = frames_table([row])
    assert header[-2:] == ("with texture", "more")
    assert line[-3:] == ("0.5", "0.51", "+2.0%")
    directed = texture | {"follow": {"median_ms": 0.55}, "swirl": {"median_ms": 0.6}}
    header, line = frames_table([row | {"texture": directed}])
    assert header[-4:] == ("with texture", "more", "with directed strokes", "more")
    assert line[-5:] == ("0.5", "0.51", "+2.0%", "0.6", "+20.0%")


def test_steps_beside_the_network_are_in_microseconds():
    times = {"median_ms": 0.0421, "p20_ms": 0.041, "p80_ms": 0.0449, "p95_ms": 0.06}
    header, line = steps_table([{"width": 64, "height": 48, "step": "texture", **times}])
    assert header[2] == "microseconds"
    assert line == ("texture", "64x48", "42", "41-45", "60")


def test_a_network_that_direct_optimization_does_not_reach_is_told_so():
    quality = json.loads((REPORTS / "quality.json").read_text("utf-8"))["quality"]
    (scream,) = (style for style in quality["styles"] if style["key"] == "scream")
    for value, told in ((None, "over 300"), (12.0, "12")):
        scream["networks"][0]["equals_from_noise"] = value
        rows = [row.split(" | ") for row in quality_markdown(quality).splitlines()]
        (header,) = (row for row in rows if "from noise" in row)
        (line,) = (row for row in rows if row[0] == "| Scream" and len(row) == len(header))
        assert line[header.index("from noise")] == told


def test_the_painter_of_any_style_is_compared_with_the_faster_layout():
    row = {
        "variant": "small",
        "size": "512x512",
        "precision": "FP16",
        "ms": {
            "plan": 1.5,
            "eager": 6.0,
            "eager, channels last": 7.0,
            "compiled in a graph": 3.0,
        },
        "error": {"plan": 0.3},
        "bit-equal": {"plan": True},
    }
    header, line = any_style_table([row])
    told = dict(zip(header, line, strict=True))
    assert (told["plan, ms"], told["eager, ms"]) == ("1.5", "6")
    assert (told["vs eager"], told["vs compiled"]) == ("4.00x", "2.00x")
    assert (told["error"], told["equal bits"]) == ("0.30", "yes")
    assert "eager in a graph, ms" not in told
    failed = any_style_table([row, {**row, "ms": {"eager": 6.0}, "error": {}, "bit-equal": {}}])
    assert failed[2][header.index("vs eager")] == "-"


def test_mattes_are_told_per_condition_over_all_of_its_films():
    figures = {"moving_flicker": 0.125, "still_flicker": 0.01, "milliseconds": 8.0}
    films = [
        {"conditions": "fog", "overlap": overlap, "least": overlap - 0.1, **figures}
        for overlap in (0.9, 0.95)
    ]
    header, line = mattes_table({"films": films})
    assert dict(zip(header, line, strict=True)) == {
        **{"recorded with": "fog", "intersection over union": "0.925", "least of a frame": "0.800"},
        **{"edge flicker, walking": "12.5 %", "edge flicker, still": "1.0 %", "ms": "8"},
    }


def test_what_several_devices_gain_stands_beside_what_limits_them():
    runs = [{"device": "cuda:0", "per_second": 40.0, "limit": "network"}, {"per_second": 76.0}]
    row = {"of": "film", "count": 96, "size": [1280, 720], "precision": "fp16", "kernels": "fused"}
    header, line = devices_table([{**row, "runs": runs, "gain": 1.9}])
    assert dict(zip(header, line, strict=True)) == {
        **{"what": "96 frames of a film", "size": "1280x720", "precision": "fp16"},
        **{"kernels": "fused", "one, a second": "40", "all, a second": "76", "gain": "1.90x"},
        **{"what limits one": "network", "what limits all": "-"},
    }


def _pass(
    ours: float, others: dict[str, float], error: float = 1e-7, theirs: float = 1e-7
) -> dict[str, object]:
    times = {"ours": ours} | others
    return {
        "ms": {way: dict.fromkeys(("median", "p20", "p80"), ms) for way, ms in times.items()},
        "error": {"ours": error, "eager": theirs},
        "of_copy": 90.0,
    }


def _operations(gpu: str | None, *rows: dict[str, object]) -> dict[str, object]:
    machine = {"gpu": gpu, "cpu": "EPYC", "threads": 2}
    versions = {"torch": "2.13", "python": "3.11"}
    origin = {"taken": "2026-11-27", "machine": machine, "versions": versions, "commit": "abc"}
    return {**origin, "library": list(rows)}


def _row(shape: str, precision: str, **passes: object) -> dict[str, object]:
    return {
        "group": "elementwise",
        "operation": "add",
        "shape": shape,
        "precision": precision,
        **passes,
    }


ADDED = _operations(
    "H200",
    _row("8x8", "FP32", forward=_pass(2.0, {"eager": 1.0}), backward=_pass(1.0, {"eager": 5.0})),
    _row("16x8", "FP32", forward=_pass(2.0, {"eager": 3.0}), backward=_pass(1.0, {"eager": 6.0})),
    _row(
        "16x8",
        "FP16",
        forward=_pass(1.0, {"eager": 2.0}),
        backward=_pass(1.0, {"eager": 2000.4}, float("inf"), float("nan")),
    ),
)
COMPILED = _operations(
    "H200",
    _row("8x8", "FP32", forward=_pass(1.0, {"eager": 1.0, "compiled": 0.5})),
    _row("16x8", "FP32", forward=_pass(1.0, {"eager": 1.0, "compiled": 0.75})),
)


def test_an_operation_is_one_row_with_its_largest_size_and_the_range_of_all():
    ((title, (header, *lines)),) = group_tables(ADDED, COMPILED)
    assert title == "Elementwise"
    assert header[2:] == (
        *("forward: ours, ms", "eager, ms", "vs eager", "vs compiled, FP32"),
        *("backward: ours, ms", "eager, ms", "vs eager"),
    )
    assert lines == [
        (
            *("add", "16x8", "1", "2", "2.00x (0.50-2.00)", "0.75x (0.50-0.75)"),
            *("1", "2000", "2000.40x (5.00-2000.40)"),
        )
    ]


def test_a_processor_is_shown_in_fp32_and_one_ratio_has_no_range():
    exact = _row("8x8", "FP32", forward=_pass(2.0, {"eager": 3.0}))
    ((_, (_, line)),) = group_tables(_operations(None, exact))
    assert line == ("add", "8x8", "2", "3", "1.50x")
    rounded = _row("8x8", "BF16", forward=_pass(1.0, {"eager": 3.0}))
    ((_, (_, line)),) = group_tables(_operations(None, exact, rounded))
    assert line == ("add", "8x8", "2", "3", "1.50x (1.50-3.00)")


def test_optimizers_are_compared_with_pytorchs_fused_steps():
    step = _pass(2.0, {"eager": 4.0, "fused": 1.0})
    row = _row("16 up to 8x8", "FP32", step=step) | {"group": "optim", "operation": "FusedSGD"}
    norm = _row("8x8", "FP32", forward=_pass(1.0, {"eager": 2.0}))
    norm |= {"group": "optim", "operation": "total_norm"}
    report = _operations(None, norm, row)
    ((title, (header, *lines)),) = group_tables(report)
    assert (title, header[-1]) == ("Optimizers", "vs fused")
    assert [line[-2:] for line in lines] == [("2.00x", "-"), ("2.00x", "0.50x")]
    assert mentions(slower(report), "eager mode in 0 of 2", "`fused=True` in 1 of 1")


def test_what_is_not_finite_is_counted_and_named_and_no_maximum_includes_it():
    _, fp32, fp16 = error_table(ADDED)
    assert fp32 == ("FP32", "4", *["1.0e-07"] * 4, "0", "0")
    assert fp16 == ("FP16", "2", *["1.0e-07"] * 4, "1", "1")
    alone = _operations(None, _row("8", "BF16", forward=_pass(1.0, {"eager": 1.0}, float("inf"))))
    assert error_table(alone)[1:] == [("BF16", "1", *["-"] * 4, "1", "0")]
    ours, eager = not_finite(ADDED)
    assert mentions(ours, "FP16 backward, ours:", "`add` (1)")
    assert mentions(eager, "FP16 backward, eager mode:", "`add` (1)")
    text = library_summary(ADDED | {"incomplete": "1 of 2 operations"}, COMPILED)
    assert mentions(text, "H200; PyTorch 2.13", "2026-11-27; commit abc")
    assert "in 1 of 6" in text
    assert "in 2 of 2" in text


def test_a_report_is_printed_whole_and_a_damaged_one_is_told(tmp_path, capsys):
    report = tmp_path / "report.json"
    report.write_text(json.dumps(ADDED))
    assert main([str(report)]) == 0
    assert capsys.readouterr().out == markdown(ADDED)
    report.write_text("[]")
    assert main([str(report)]) == 1
    assert mentions(capsys.readouterr().err, "report.json", "not a report")
    assert report.read_text() == "[]"
