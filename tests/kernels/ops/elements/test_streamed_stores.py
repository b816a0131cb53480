"""Results of elementwise passes leave the cache of a GPU before what was read."""

from __future__ import annotations

import re
import subprocess

import pytest

from kernels.jit.cuda_tools import nvcc
from kernels.jit.libraries import FOLDER

NVCC = nvcc()
PASS = (
    "template __global__ void styleforge::elementwise::elementwise_pass<"
    "styleforge::elementwise::{functor}, {dtype}, {backward}, {count}>(const StyleforgeElements);\n"
)
PASSES = "".join(
    PASS.format(functor=functor, dtype=dtype, backward=backward, count=count)
    for functor, backward in (("AddRelu", "false"), ("MulTanh", "true"))
    for dtype, count in (("float", 4), ("__half", 8), ("__nv_bfloat16", 1), ("double", 2))
)


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")
@pytest.mark.parametrize(
    ("source", "more"),
    [("elementwise.cu", PASSES), ("relu_mask.cu", "")],
    ids=["elementwise", "relu_mask"],
)
def test_every_store_of_a_result_is_streamed(source, more, tmp_path):
    file = tmp_path / "passes.cu"
    file.write_text(f'#include "{source}"\n{more}')
    made = tmp_path / "passes.ptx"
    options = ["-arch", "sm_80", "-std=c++17", f"-I{FOLDER}", "-ptx"]
    ran = subprocess.run(
        [str(NVCC), *options, "-o", str(made), str(file)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    stores = re.findall(r"st\.global\S*", made.read_text())
    streamed = [each for each in stores if each.startswith("st.global.cs")]
    assert streamed
    # Bits of a mask are read by backward, and stay.
    assert set(stores) - set(streamed) <= {"st.global.u8"}
