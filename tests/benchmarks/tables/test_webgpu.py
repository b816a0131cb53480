"""The table of WebGPU shows other runtimes by their time for one of ours."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.pages import markdown
from benchmarks.tables.webgpu import moves_table, peers_notes, peers_table, webgpu_table
from tests.helpers.errors import mentions


def row(way: str, ms: float, precision: str = "fp32", **more: Any) -> dict[str, Any]:
    wall = {"least": ms - 0.1, "median": ms}
    case = {"network": "weights", "size": "64x48", "precision": precision}
    return {**case, "way": way, "wall": wall, "psnr": 90.25, "worst": 1.0, **more}


def ours(**more: Any) -> dict[str, Any]:
    return row("", 4.0, winograd=True, **more)


ABSENT = {"network": "lite", "way": "absent", "not_run": "it is absent"}
ORIGIN = {
    "machine": {"gpu": "A GPU"}, "versions": {"torch": "2", "python": "3"},
    "taken": "2026-11-29", "commit": "",
}  # fmt: skip
ROWS = [row("ours", 2.0), row("other", 5.0, inside={"median": 4.5}), row("ours", 1.0, "fp16")]


def test_times_are_compared_with_ours_of_the_same_precision():
    header, *lines = peers_table([*ROWS, row("other", 3.0, "fp16"), ABSENT])
    ratio, inside = header.index("of our time"), header.index("of them inside")
    assert [line[ratio] for line in lines] == ["1.00x", "2.50x", "1.00x", "3.00x"]
    assert [line[inside] for line in lines] == ["-", "4.5", "-", "-"]
    assert lines[0][:4] == ("full", "64x48", "FP32", "ours")


def test_a_reason_is_told_once():
    (note,) = peers_notes([*ROWS, ABSENT, ABSENT])
    assert mentions(note, "absent", "it is absent")


def test_a_stream_has_a_column_once_it_is_measured():
    assert "ms in a stream" not in webgpu_table([ours()])[0]
    header, line = webgpu_table([ours(**{"in flight": 1.5})])
    assert line[header.index("ms in a stream")] == "1.5"


def test_a_report_with_peers_has_their_table_too():
    report = {**ORIGIN, "webgpu": [ours()], "peers": [*ROWS, ABSENT]}
    assert mentions(markdown(report), "| ours |", "2.50x", "it is absent")
    assert "| ours |" not in markdown({**ORIGIN, "webgpu": [ours()], "peers": []})


def test_a_report_with_moves_has_their_table_too():
    wall, gpu = {"least": 2.9, "median": 3.5}, {"least": 0.4, "median": 0.625}
    moves = [{"size": "64x48", "paintings": n, "wall": wall, "gpu": gpu} for n in (1, 2)]
    header, *lines = moves_table(moves)
    assert [line[header.index("paintings")] for line in lines] == ["1", "2"]
    assert lines[0][header.index("GPU ms")] == "0.625"
    untimed = [{name: each for name, each in row.items() if name != "gpu"} for row in moves]
    assert "GPU ms" not in moves_table(untimed)[0]
    report = {**ORIGIN, "webgpu": [ours()]}
    assert mentions(markdown({**report, "moves": moves}), "| 64x48 | 2 |", "3.5")
    assert "| 64x48 | 2 |" not in markdown({**report, "moves": []})


def test_ways_have_names_of_their_own():
    rows = [ours(), ours(enlarging_winograd=True), row("", 4.0, winograd=False)]
    assert len({line[3] for line in webgpu_table(rows)[1:]}) == len(rows)
