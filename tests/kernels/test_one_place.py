"""A new operation needs its sources, one declared object, and few other edits.

The tests copy the tree, add operations of four kinds, and query every list in a child process. They
also run the tests of every operation on them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.nvrtc import compile_source

ROOT = Path(__file__).resolve().parents[2]
EVERY = "tests/kernels/ops/test_every_operation.py"
OF_LIBRARY = "tests/kernels/ops/general"
PAGES = "tests/docs/test_library_pages.py"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.webp", "*.png")

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
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["fused_leaky"]


def _reference(x: Tensor, slope: float) -> Tensor:
    return F.leaky_relu(x, slope)


def _launch_cpu(launch: CpuLauncher, x: Tensor, slope: float) -> Tensor:
    y = x.double().contiguous()
    out = torch.empty_like(y)
    launch("styleforge_leaky_cpu", y, out, y.numel(), slope)
    return out.to(x.dtype)


def _launch_cuda(launch: CudaLauncher, x: Tensor, slope: float) -> Tensor:
    if x.dtype != torch.float32:
        return _reference(x, slope)
    x = x.contiguous()
    y = torch.empty_like(x)
    launch("styleforge_leaky", -(-x.numel() // 256), 256, x, y, x.numel(), slope)
    return y


def _samples():
    yield torch.linspace(-2, 2, 24).view(1, 2, 3, 4), 0.25


@Operation(
    reference=_reference,
    samples=_samples,
    cpu=Cpu("leaky", _launch_cpu),
    cuda=Cuda("leaky_cuda", _launch_cuda),
)
def fused_leaky(x: Tensor, slope: float = 0.1) -> Tensor:
    """x where it is positive, x * slope elsewhere."""
    ...
'''

Edits = Mapping[str, str | Sequence[tuple[str, str]]]  # by path: a new file, or old and new texts

GENERAL = "kernels/ops/general"
ELEMENTWISE: Edits = {
    f"{GENERAL}/elementwise/functors.h": [
        (
            "// The inputs are x, bias and alpha.\n",
            """\
struct AddTanh : OfResult {
    static constexpr int kInputs = 2, kGradients = 1;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return M::tanh(in[0] + in[1]);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = grad * (A(1) - in[0] * in[0]);
    }
};

// The inputs are x, bias and alpha.
""",
        ),
        (
            "    use(attention_dropout, AttentionDropout)",
            "    use(attention_dropout, AttentionDropout) \\\n    use(add_tanh, AddTanh)",
        ),
    ],
    f"{GENERAL}/elementwise/functions.py": [
        (
            """\
            lambda grad, _, factors: (grad * factors,),
        ),
""",
            """\
            lambda grad, _, factors: (grad * factors,),
        ),
        _of_sum(
            "add_tanh",
            lambda x, y: torch.tanh(x + y),
            lambda grad, result: (grad * (1 - result * result),),
        ),
""",
        )
    ],
    f"{GENERAL}/elementwise/api.py": [
        ('    "add_sigmoid",\n', '    "add_sigmoid",\n    "add_tanh",\n'),
        (
            "",
            '''

@elementwise(samples=samples.pairs)
def add_tanh(x: Tensor, y: Tensor) -> Tensor:
    """Compute tanh(x + y)."""
    ...
''',
        ),
    ],
}
NORM: Edits = {
    f"{GENERAL}/fusion/activations.h": [
        (
            "// Calls `use` with the activation",
            """\
struct Silu {
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A value(A z) {
        return z * elementwise::sigmoid<M>(z);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A gradient(A grad, A z) {
        const A s = elementwise::sigmoid<M>(z);
        return grad * s * (A(1) + z * (A(1) - s));
    }
};

// Calls `use` with the activation""",
        ),
        (
            "        use(Gelu{});\n",
            "        use(Gelu{});\n    else if (number == 3)\n        use(Silu{});\n",
        ),
    ],
    f"{GENERAL}/fusion/rows.py": [
        (
            '    "gelu": Activation(F.gelu, _through_gelu),\n',
            """\
    "gelu": Activation(F.gelu, _through_gelu),
    "silu": Activation(
        F.silu, lambda grad, z: grad * torch.sigmoid(z) * (1 + z * (1 - torch.sigmoid(z)))
    ),
""",
        )
    ],
    f"{GENERAL}/fusion/api.py": [
        ("__all__ = [\n", '__all__ = [\n    "layer_norm_silu",\n'),
        (
            "",
            '''

@row_norm(lambda *_: Norm("layer_norm_silu", "silu"), samples=samples.of_rows)
def layer_norm_silu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Compute silu(layer_norm(x))."""
    ...
''',
        ),
    ],
    f"{GENERAL}/fusion/timed.py": [
        ("TIMED = {\n", 'TIMED = {\n    "layer_norm_silu": Timed(_layer_norm(F.silu), _rows),\n')
    ],
    "docs/reference/kernel_fusion/fusion.md": [
        (
            "| `rms_norm_gelu(",
            "| `layer_norm_silu(x, normalized_shape, ...)` | silu(layer_norm(x)) | |\n"
            "| `rms_norm_gelu(",
        ),
        ("", "\n```python\nkf.ops.layer_norm_silu(torch.randn(3, 16), 16)\n```\n"),
    ],
    "tests/kernels/ops/general/fusion/test_fusion.py": [
        ("CASES = {\n", 'CASES = {\n    "layer norm, SiLU": Case("layer_norm_silu", rows),\n')
    ],
}
LOSS: Edits = {
    f"{GENERAL}/loss/loss.cpp": [
        (
            "",
            """
// parts: the sum of |x - y| per 65536 elements.
STYLEFORGE_EXPORT int styleforge_absolute_error(long long threads, const float* x, const float* y,
                                                float* parts, long long count) {
    parallel_for((count + kPart - 1) / kPart, threads, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
            const int64_t first = part * kPart, rest = count - first;
            const auto term = [&](int64_t i) { return std::fabs(x[first + i] - y[first + i]); };
            parts[part] = sum_of(rest < kPart ? rest : kPart, term);
        }
    });
    return 0;
}
""",
        )
    ],
    f"{GENERAL}/loss/loss.cu": [
        (
            "",
            """
// The sum of |x - y|, in one block.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_absolute_error(const float* x, const float* y, float* total, long long count) {
    float sum = 0.f;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) sum += fabsf(x[i] - y[i]);
    sum = styleforge::loss::over_block(sum, false);
    if (threadIdx.x == 0) *total = sum;
}
""",
        )
    ],
    f"{GENERAL}/loss/absolute.py": '''\
"""The mean absolute error."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.general.loss import samples
from kernels.ops.general.loss.rows import MOST_THREADS, wide
from kernels.ops.general.loss.squares import PART
from kernels.table.launcher import CpuLauncher, CudaLauncher


def reference(x: Tensor, target: Tensor) -> Tensor:
    dtype = wide(x.dtype)
    return (x.to(dtype) - target.to(dtype)).abs().mean().to(x.dtype)


def on_cpu(launch: CpuLauncher, x: Tensor, target: Tensor) -> Tensor:
    if wide(x.dtype) != torch.float32 or not x.numel():
        return reference(x, target)
    parts = torch.empty(-(-x.numel() // PART))
    given = x.float().contiguous(), target.float().contiguous(), parts
    launch("styleforge_absolute_error", *given, x.numel())
    return (parts.sum() / x.numel()).to(x.dtype)


def on_cuda(launch: CudaLauncher, x: Tensor, target: Tensor) -> Tensor:
    if wide(x.dtype) != torch.float32 or not x.numel():
        return reference(x, target)
    total = x.new_empty((), dtype=torch.float32)
    given = x.float().contiguous(), target.float().contiguous(), total
    launch("styleforge_absolute_error", 1, MOST_THREADS, *given, x.numel())
    return (total / x.numel()).to(x.dtype)


def pairs():
    return ((x, y) for x, y, reduction in samples.pairs() if reduction == "mean")
''',
    f"{GENERAL}/loss/api.py": [
        ("__all__ = [\n", '__all__ = [\n    "l1_loss",\n'),
        (
            "",
            '''

@Operation(
    reference=absolute.reference,
    samples=absolute.pairs,
    cpu=Cpu(ON_CPU, absolute.on_cpu),
    cuda=_on_cuda(absolute.on_cuda),
    refuses=_refuses,
    tolerance_scale=4,
)
def l1_loss(x: Tensor, target: Tensor) -> Tensor:
    """Compute the mean of |x - target|."""
    ...
''',
        ),
        (
            "from kernels.ops.general.loss import linear,",
            "from kernels.ops.general.loss import absolute, linear,",
        ),
    ],
    "docs/reference/kernel_fusion/loss.md": [
        ("| `mse_loss(", "| `l1_loss(x, target)` | mean of \\|x - target\\| | |\n| `mse_loss("),
        ("", "\n```python\nkf.ops.l1_loss(x, target)\n```\n"),
    ],
}
# By the operation's name: how many tests of every operation it has on the CPU, a file with tests of
# its kind, and what these have in their names.
TESTS = {
    "add_tanh": (8, f"{OF_LIBRARY}/elementwise/test_elementwise.py", "add_tanh"),
    "layer_norm_silu": (9, f"{OF_LIBRARY}/fusion/test_fusion.py", "SiLU"),
    "l1_loss": (8, EVERY, "l1_loss"),
}

ASK = """\
import sys
from pathlib import Path

import torch

import kernel_fusion as kf
import kernels
from benchmarks.operations.style_cases import sampled_cases
from kernels.jit.libraries import LIBRARIES

assert Path(kernels.__file__).is_relative_to(Path.cwd()), kernels.__file__
assert LIBRARIES["leaky"].cpu == ("ops/style/leaky/leaky.cpp",)
assert LIBRARIES["leaky_cuda"].cuda == ("ops/style/leaky/leaky.cu",)

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
    """Copy the program and add the operations."""
    folder = tmp_path_factory.mktemp("tree")
    for name in (
        *("app", "benchmarks", "kernel_fusion", "kernels", "models", "utils"),
        *("tests", "tools", "docs"),
    ):
        shutil.copytree(ROOT / name, folder / name, ignore=LEFT_OUT)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for edits in (ELEMENTWISE, NORM, LOSS):
        for path, changes in edits.items():
            edit(folder / path, changes)
    leaky = folder / "kernels" / "ops" / "style" / "leaky"
    leaky.mkdir()
    (leaky / "__init__.py").touch()
    (leaky / "leaky.cpp").write_text(CPU)
    (leaky / "leaky.cu").write_text(CUDA)
    (leaky / "api.py").write_text(PYTHON)
    with (folder / "kernel_fusion" / "ops.py").open("a") as published:
        published.write("from kernels.ops.style.leaky.api import *\n")
    return folder


def edit(path: Path, changes: str | Sequence[tuple[str, str]]) -> None:
    """Write a new file, or replace texts that occur once; a replaced "" stands for the end."""
    if isinstance(changes, str):
        assert not path.exists()
        path.write_text(changes)
        return
    text = path.read_text("utf-8")
    for old, new in changes:
        assert not old or text.count(old) == 1, f"{path.name}: {old}"
        text = text.replace(old, new) if old else text + new
    path.write_text(text, "utf-8")


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


def test_a_kind_of_operation_is_added_in_few_files():
    assert len(ELEMENTWISE) <= 3
    assert len(NORM) <= 6
    assert len(LOSS) <= 6


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_its_kind_find_an_added_operation(tree, name):
    try:
        toolchain.toolchain()
    except BuildError as error:
        pytest.skip(str(error))
    count, file, words = TESTS[name]
    every = "-m", "(full or not full) and not gpu", "-k", f"{name} and cpu"
    tested = run(tree, "-m", "pytest", "-q", "--noconftest", EVERY, *every)
    assert tested.returncode == 0, tested.stdout
    assert f"{count} passed" in tested.stdout
    tested = run(tree, "-m", "pytest", "-q", file, "-k", f"{words} and not cuda")
    assert tested.returncode == 0, tested.stdout
    assert " passed" in tested.stdout


@pytest.mark.full
def test_the_pages_name_the_added_operations(tree):
    written = run(tree, "-m", "tools.operations_page")
    assert written.returncode == 0, written.stderr
    assert (
        "| `add_tanh(x, y)` | tanh(x + y) | |"
        in (tree / "docs/reference/kernel_fusion/elementwise.md").read_text()
    )
    tested = run(
        tree, "-m", "pytest", "-q", "--noconftest", PAGES, "-k", "every_operation or written"
    )
    assert tested.returncode == 0, tested.stdout


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
from kernels.ops.style.leaky import api as leaky
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
        tree / "kernels" / "ops" / "style" / "leaky" / "leaky.cu",
        tree / "kernels",
        "sm_80",
        ["styleforge_leaky"],
    )
    assert made.kernels == {"styleforge_leaky": "styleforge_leaky"}
    assert made.image.startswith(b"\x7fELF")
