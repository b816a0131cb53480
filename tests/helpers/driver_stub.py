"""A stub NVIDIA driver that only lists GPUs, compiled for a test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernels.jit.errors import BuildError
from kernels.jit.toolchain import toolchain

SOURCE = """
static const int capabilities[][2] = {CAPABILITIES};
int cuInit(unsigned flags) { return flags; }
int cuDriverGetVersion(int* version) { *version = VERSION; return 0; }
int cuDeviceGetCount(int* count) { *count = COUNT; return COUNT ? 0 : 100; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal + 7; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    if (attribute != 75 && attribute != 76) return 1;
    *value = capabilities[device - 7][attribute - 75];
    return 0;
}
"""


def driver_stub(folder: Path, version: int, capabilities: Sequence[tuple[int, int]]) -> str:
    """Compile a driver for CUDA `version`, such as 12080, with one GPU per capability."""
    if sys.platform == "win32":
        pytest.skip("compiles with c++")
    try:
        compiler = toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    (folder / "stub.c").write_text(SOURCE, "utf-8")
    rows = ",".join(f"{{{major},{minor}}}" for major, minor in capabilities) or "{0,0}"
    values = {"VERSION": version, "COUNT": len(capabilities), "CAPABILITIES": rows}
    flags = [
        "-x",
        "c",
        "-shared",
        "-fPIC",
        *(f"-D{name}={value}" for name, value in values.items()),
    ]
    built = folder / f"libcuda-{version}-{len(capabilities)}.so"
    subprocess.run([compiler, *flags, str(folder / "stub.c"), "-o", str(built)], check=True)
    return str(built)
