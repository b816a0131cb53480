"""A new operation needs its sources, one `@fused` function and an import that publishes it.

The test copies the tree, adds these, and queries every list in a child process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.nvrtc import compile_source

ROOT = Path(__file__).resolve().parents[2]
EVERY = "tests/kernels/ops/test_every_operation.py"
LEFT_OUT = shutil.ignore_patterns("__pycache__")

CPU = """\
#include "include/cpu/parallel.h"

STYLEFORGE_EXPORT int styleforge_leaky_cpu(int64_t threads, const double* x, double* y,
                                           int64_t count, double slope) {
    styleforge::parallel_for(count, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = x[i] > 0 ? x[i] : x[i] * slope;
    });
    return 0;
}
"""

CUDA = """\
extern "C" __global__ void styleforge_leaky(const float* x, float* y, long long count,
                                            double slope) {
    const long long i = 1ll * blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] > 0 ? x[i] : x[i] * static_cast<float>(slope);
}
"""

PYTHON = '''\
"""A ReLU that lets some of what is negative pass."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.table.launcher import CpuLauncher, CudaLauncher
from kernels.table.registry import fused


def _reference(x: Tensor, slope: float = 0.1) -> Tensor:
    return F.leaky_relu(x, slope)


def _launch_cpu(launch: CpuLauncher, x: Tensor, slope: float = 0.1) -> Tensor:
    y = x.double().contiguous()
    out = torch.empty_like(y)
    launch("styleforge_leaky_cpu", y, out, y.numel(), slope)
    return out.to(x.dtype)


def _launch_cuda(launch: CudaLauncher, x: Tensor, slope: float = 0.1) -> Tensor:
    if x.dtype != torch.float32:
        return _reference(x, slope)
    x = x.contiguous()
    y = torch.empty_like(x)
    launch("styleforge_leaky", -(-x.numel() // 256), 256, x, y, x.numel(), slope)
    return y


def _samples():
    yield torch.linspace(-2, 2, 24).view(1, 2, 3, 4), 0.25


@fused(
    "leaky",
    reference=_reference,
    samples=_samples,
    launch_cpu=_launch_cpu,
    cuda="leaky_cuda",
    launch_cuda=_launch_cuda,
)
def fused_leaky(x: Tensor, slope: float = 0.1) -> Tensor:
    """x where it is positive, x * slope elsewhere."""
    ...
'''

ASK = """\
import sys
from pathlib import Path

import torch

import kernel_fusion as kf
import kernels
from benchmarks.operations.style_cases import sampled_cases
from kernels.jit.libraries import LIBRARIES

assert Path(kernels.__file__).is_relative_to(Path.cwd()), kernels.__file__
assert LIBRARIES["leaky"].cpu == ("ops/general/leaky/leaky.cpp",)
assert LIBRARIES["leaky_cuda"].cuda == ("ops/general/leaky/leaky.cu",)

x = torch.linspace(-3, 3, 1000)
expected = torch.nn.functional.leaky_relu(x, 0.2)
assert torch.equal(kf.ops.fused_leaky(x, 0.2), expected)  # its reference: nothing is built yet
(before,) = (s for s in kf.statuses() if s.name == "fused_leaky")
assert (before.ready, before.reason) == (False, "not built yet"), before

prepared = kf.prepare(["fused_leaky"])
assert all(status.ready for status in prepared), prepared
(after,) = (s for s in kf.statuses() if s.name == "fused_leaky")
assert after.ready, after
assert "fused_leaky" in dir(kf.ops)
torch.testing.assert_close(kf.kernels.leaky.fused_leaky(x, 0.2), expected)
if torch.cuda.is_available():
    assert {status.name for status in prepared} == {"fused_leaky", "leaky_cuda"}
    torch.testing.assert_close(kf.kernels.leaky.fused_leaky(x.cuda(), 0.2).cpu(), expected)

(case,) = sampled_cases(torch.device("cpu"))
assert case.operation == "fused_leaky"
torch.testing.assert_close(case.ours(*case.given), case.eager(*case.given))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the program and add one operation."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("app", "benchmarks", "kernel_fusion", "kernels", "models", "utils"):
        shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
    (folder / EVERY).parent.mkdir(parents=True)
    shutil.copy(ROOT / EVERY, folder / EVERY)
    shutil.copy(ROOT / "pyproject.toml", folder)
    leaky = folder / "kernels" / "ops" / "general" / "leaky"
    leaky.mkdir()
    (leaky / "__init__.py").touch()
    (leaky / "leaky.cpp").write_text(CPU)
    (leaky / "leaky.cu").write_text(CUDA)
    (leaky / "api.py").write_text(PYTHON)
    with (folder / "kernel_fusion" / "ops.py").open("a") as published:
        published.write("from kernels.ops.general.leaky.api import fused_leaky as fused_leaky\n")
    return folder


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, (str(tree), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "STYLEFORGE_CACHE": str(tree / "cache"), "PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True
    )


@pytest.mark.full
@pytest.mark.slow
def test_a_new_operation_is_built_called_and_listed_everywhere(tree):
    try:
        toolchain.toolchain()
    except BuildError as error:
        pytest.skip(str(error))
    asked = run(tree, "-c", ASK)
    assert asked.returncode == 0, asked.stderr
    # The tests of every operation pass for it too, though none names it.
    selected = "-m", "full or not full", "-k", "fused_leaky and cpu"
    tested = run(tree, "-m", "pytest", "-q", "--noconftest", EVERY, *selected)
    assert tested.returncode == 0, tested.stdout
    assert "7 passed" in tested.stdout


CALL = """\
import hashlib
import lzma
import sys
from pathlib import Path

import torch

from kernels.driver.compiling import sources_of
from kernels.driver.driver import Driver
from kernels.driver.images import Image, ImageList
from kernels.driver.library import DriverLibrary
from kernels.jit.libraries import LIBRARIES
from kernels.ops.general.leaky import api as leaky
from kernels.table import launcher

folder, code = Path(sys.argv[2]), b"image\\0"
(source,) = sources_of(LIBRARIES["leaky_cuda"], {})
assert (source.name, source.kernels) == ("leaky.cu", ("styleforge_leaky",))
image = Image("leaky.xz", source.name, "sm_90", hashlib.sha256(code).hexdigest())
(folder / image.file).write_bytes(lzma.compress(code))
names = {source.name: {name: name for name in source.kernels}}
images = ImageList("leaky_cuda", "", {}, names, (image,))
library = DriverLibrary(images, folder, (9, 0), 0, Driver(sys.argv[1]))
launcher.raw_stream = lambda index: 7
launch = launcher.CudaLauncher(library, launcher.Gpu(0, 132, 9))
leaky._launch_cuda(launch, torch.ones(1000), 0.5)
"""


@pytest.mark.full
def test_its_kernel_is_found_in_its_source_and_launched(tree, stub_path, tmp_path):
    called = run(tree, "-c", CALL, str(stub_path), str(tmp_path))
    assert called.returncode == 0, called.stderr


def test_its_kernel_compiles(tree, toolkit):
    made = compile_source(
        toolkit,
        tree / "kernels" / "ops" / "general" / "leaky" / "leaky.cu",
        tree / "kernels",
        "sm_80",
        ["styleforge_leaky"],
    )
    assert made.kernels == {"styleforge_leaky": "styleforge_leaky"}
    assert made.image.startswith(b"\x7fELF")
