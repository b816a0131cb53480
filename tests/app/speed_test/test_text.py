"""The text to share has the conditions, every row, the machine and the versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.frame import Frame
from app.speed_test.layers import LayerTable
from app.speed_test.result import Row, live_result
from app.speed_test.text import as_text, conditions, milliseconds, ratio, told
from tests.app.speed_test.results import MACHINE, RESULT, time
from tests.helpers.errors import mentions
from tests.helpers.fakes import Negative, numbered


def compared() -> StyledFrame:
    engine = Negative()
    engine.configure(EngineConfig(compare=True))
    return engine.process(Frame(numbered(1)))


def test_the_conditions_name_size_precision_style_and_version():
    assert conditions(RESULT) == "1280x720, FP32, Candy, fine version"
    assert conditions(replace(RESULT, lite=True)).endswith("fast version")


def test_every_row_has_a_line_and_the_fastest_comes_first():
    lines = as_text(RESULT).splitlines()
    at = [
        next(n for n, line in enumerate(lines) if line.startswith(row.title)) for row in RESULT.rows
    ]
    cuda, ours, plain, openvino, onnx = at
    assert ours < plain < onnx < openvino < cuda
    assert mentions(lines[ours], "50.0 ms", "20.0 fps", "8.00", "Plain PyTorch, CPU")
    assert mentions(lines[openvino], "0.80")
    assert "no CUDA device" in lines[cuda]


def test_a_row_whose_picture_differs_has_no_ratio_in_the_text():
    line = next(line for line in as_text(RESULT).splitlines() if "ONNX" in line)
    assert "withheld" in line
    assert "times as fast" not in line


def test_a_slow_engine_is_told_in_seconds_a_picture():
    assert mentions(told(Row("a", latency=time(2500.0))), "2,500.0 ms", "2.5 s")


def test_a_ratio_within_two_percent_is_as_fast():
    assert "1.01" not in told(Row("a", latency=time(1.0), ratio=1.01, beside="b"))
    assert "1.03" in told(Row("a", latency=time(1.0), ratio=1.03, beside="b"))


def test_every_layer_has_a_line_with_both_times():
    line = next(line for line in as_text(RESULT).splitlines() if "conv1" in line)
    assert mentions(line, "60.0 ms", "7.50 ms", "8.00")


def test_layers_that_are_not_shown_have_the_reason_in_the_text():
    table = LayerTable("CPU", reason="no times here")
    assert "no times here" in as_text(replace(RESULT, layers=(table,)))


def test_the_text_ends_with_the_machine_and_the_versions():
    text = as_text(RESULT)
    for fact in (MACHINE.processor, *MACHINE.gpus, MACHINE.system, *MACHINE.versions):
        assert fact in text


@pytest.mark.parametrize(("ms", "text"), [(0.654, "0.65"), (12.34, "12.3"), (1234.5, "1,234.5")])
def test_short_times_have_more_decimals(ms, text):
    assert milliseconds(Row("a", latency=time(ms))) == text


def test_a_ratio_below_1_is_shown_as_it_is():
    assert ratio(Row("a", latency=time(1.0), ratio=0.5)).startswith("0.50")
    assert ratio(Row("a", latency=time(1.0))) == ""


def test_the_comparison_of_a_stream_is_a_result_of_two_rows():
    styled = compared()
    comparison = styled.comparison
    assert comparison is not None
    result = live_result(styled, MACHINE)
    ours, plain = result.rows
    assert (ours.title, plain.title) == ("StyleForge, CPU", "Plain PyTorch, CPU")
    assert ours.ratio == comparison.ratio
    assert ours.beside == plain.title
    assert (result.size, result.precision) == (comparison.size, comparison.precision)


def test_a_frame_without_a_comparison_is_no_result():
    with pytest.raises(ValueError, match="comparison"):
        live_result(replace(compared(), comparison=None), MACHINE)
