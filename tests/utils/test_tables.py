"""Stored reports, including old ones, are read as tables, and the benchmark page shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from utils.tables import (
    any_style_table,
    devices_table,
    frames_table,
    main,
    markdown,
    quality_markdown,
    refreshed,
    table,
)

ROOT = Path(__file__).resolve().parents[2]
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
    page = ROOT / "docs" / "benchmarks.md"
    text = page.read_text("utf-8")
    assert text.count("<!-- figures: ") == 10
    assert refreshed(text, page.parent) == text


def test_a_report_of_before_a_column_was_added_still_reads():
    report = json.loads((ROOT / "benchmarks" / "h200.json").read_text("utf-8"))
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
    assert said.startswith(f"{page} was left as it is: ")
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


def test_a_network_that_direct_optimization_does_not_reach_is_told_so():
    quality = json.loads((ROOT / "benchmarks" / "quality.json").read_text("utf-8"))["quality"]
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


def test_what_several_devices_gain_stands_beside_what_limits_them():
    runs = [{"device": "cuda:0", "per_second": 40.0, "limit": "network"}, {"per_second": 76.0}]
    row = {"of": "film", "count": 96, "size": [1280, 720], "precision": "fp16", "kernels": "fused"}
    header, line = devices_table([{**row, "runs": runs, "gain": 1.9}])
    assert dict(zip(header, line, strict=True)) == {
        **{"what": "96 frames of a film", "size": "1280x720", "precision": "fp16"},
        **{"kernels": "fused", "one, a second": "40", "all, a second": "76", "gain": "1.90x"},
        **{"what limits one": "network", "what limits all": "-"},
    }
