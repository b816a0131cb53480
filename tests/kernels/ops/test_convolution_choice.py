"""Our kernel or cuDNN: one table in Python, which the C++ library is given and follows."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch

from kernels.jit import build, toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from kernels.ops import convolution
from kernels.ops.convolution import FASTER_CASES, FasterCase, own_kernel_is_faster
from kernels.ops.registry import OPERATIONS


class Case(NamedTuple):
    stride: int
    outputs: int
    kernel: int
    exact: bool
    channels_last: bool
    upsample: bool


BOTH = (False, True)
CASES = [
    Case(*numbers, *flags)
    for numbers in itertools.product((1, 2), (1, 8, 9, 64), (1, 3, 9))
    for flags in itertools.product(BOTH, BOTH, BOTH)
]

SOURCE = """
#include "{header}"

extern "C" int faster(const StyleforgeFasterCase* rows, int count, int stride, int outputs,
                      int kernel, int exact, int channels_last, int upsample) {{
    return styleforge::own_kernel_is_faster(
        rows, count, {{stride, outputs, kernel, exact != 0, channels_last != 0, upsample != 0}});
}}

extern "C" int row_bytes() {{ return sizeof(StyleforgeFasterCase); }}
"""


def in_python(case: Case) -> bool:
    return own_kernel_is_faster(**case._asdict())


def hand_over(setter: Callable[..., int]) -> None:
    """What loading a library does, whose one function is `setter`."""
    library: Any = SimpleNamespace(styleforge_set_faster_cases=setter)
    build._setups[OPERATIONS](library)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The choice as the library makes it, which needs no GPU."""
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("choice")
    source, built = folder / "choice.cpp", folder / f"choice{toolchain.SUFFIX}"
    header = (FOLDER / "include" / "conv2d" / "choice.h").as_posix()
    source.write_text(SOURCE.format(header=header))
    command = [compiler, "-std=c++17", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", str(built), str(source)], check=True)
    return ctypes.CDLL(str(built))


def test_ours_is_faster_where_it_was_measured_to_be():
    for case in CASES:
        few_or_interleaved = case.outputs <= 8 or (case.channels_last and case.kernel == 3)
        expected = case.stride > 1 or case.upsample or (case.exact and few_or_interleaved)
        assert in_python(case) == expected, case


@pytest.mark.skipif(sys.platform == "win32", reason="the flags are those of g++ and clang")
@pytest.mark.parametrize("rows", [FASTER_CASES, *((row,) for row in FASTER_CASES), ()])
def test_the_library_follows_the_rows_it_is_given(rows, compiled, monkeypatch):
    monkeypatch.setattr(convolution, "FASTER_CASES", rows)
    assert compiled.row_bytes() == ctypes.sizeof(FasterCase)
    given = (FasterCase * len(rows))(*rows)
    for case in CASES:
        assert bool(compiled.faster(given, len(rows), *map(int, case))) == in_python(case), case


def test_the_reason_follows_the_table(monkeypatch):
    cuda = torch.device("cuda")
    assert "cuDNN" in convolution.unavailable_reason(cuda, torch.float16)
    monkeypatch.setattr(convolution, "FASTER_CASES", (FasterCase(kernel=3),))
    assert convolution.unavailable_reason(cuda, torch.float16) == ""
    assert "cuDNN" in convolution.unavailable_reason(cuda, torch.float16, kernel_size=9, stride=2)


def test_the_library_is_given_the_table_when_it_is_loaded():
    given = []

    def take(rows: ctypes.Array[FasterCase], count: int, row_bytes: int) -> int:
        given.append((count, row_bytes, rows[0].min_stride))
        return 0

    hand_over(take)
    assert given == [(len(FASTER_CASES), 24, 2)]


def test_a_library_with_another_layout_is_refused():
    with pytest.raises(BuildError, match="StyleforgeFasterCase differs"):
        hand_over(lambda *_: 1)
