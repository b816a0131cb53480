"""The library reads and writes only its own memory, and computes nothing undefined."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, LIBRARIES
from kernels.table.names import NETWORK_CPU


@pytest.mark.full
@pytest.mark.parametrize("architecture", ["native", "x86-64-v2"])
def test_no_sanitizer_finds_a_fault(architecture, tmp_path):
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    runtime = _runtime(compiler)
    (source,) = LIBRARIES[NETWORK_CPU].sources
    path = tmp_path / "watched.so"
    command = toolchain.cpu_command(compiler, str(source), str(path))
    command = [f"-march={architecture}" if x.startswith("-march=") else x for x in command]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1"]
    done = subprocess.run([*command, *sanitizers], capture_output=True, text=True, check=False)
    if done.returncode and "cannot find" in done.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert done.returncode == 0, done.stderr
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",  # of the interpreter and PyTorch
        "PYTHONPATH": str(FOLDER.parent),
    }
    program = [sys.executable, "-m", "tests.kernels.network.cpu.watched", str(path)]
    ran = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]


def _runtime(compiler: str) -> str:
    """Return the path of libasan, or skip the test where the compiler has none."""
    command = [compiler, "-print-file-name=libasan.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip("the compiler has no libasan")
    return found
