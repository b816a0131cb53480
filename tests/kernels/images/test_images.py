"""An image computes the same bits as a local build, on every system it is for.

`make prebuild` creates the images. Images for other systems run under Wine and QEMU, with the
OpenMP library that PyTorch installs there; `python -m tests.kernels.images.openmp` fetches the one
for Windows.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernels.jit import prebuilt, toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from tests.kernels.images import openmp, recorded
from tools.prebuild import cpu

LIBRARY = LIBRARIES["instance_norm"]
HOST = Path(__file__).with_name("host.c")
# Debian's libraries for arm64 programs on another processor, with OpenMP.
ARM64 = Path("/usr/aarch64-linux-gnu")
THREADS = 2
FMA = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compiles on Linux")


def image_for(target: str) -> Path:
    """Return the image of the current sources; skip the test without it."""
    image = prebuilt.IMAGES / prebuilt.image_name(LIBRARY, target)
    if not image.exists():
        pytest.skip(f"there is no image for {target} of these sources: make prebuild")
    return image


def found(program: str) -> str:
    """Return a program's path; skip the test without it."""
    path = shutil.which(program)
    return path or pytest.skip(f"{program} is not installed")


def host(folder: Path, target: str) -> Path:
    """Compile the program that calls an image, for another system."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed, which compiles for other systems")
    program = folder / "host.exe"
    triple, processor = cpu.TARGETS[target]
    # The same flags as the images: the compiler caches the system libraries that it built for them.
    command = [sys.executable, "-m", "ziglang", "cc", "-target", triple, f"-mcpu={processor}"]
    subprocess.run([*command, "-O3", "-s", str(HOST), "-o", str(program)], check=True)
    return program


def differences(runner: list[str], calls: list[recorded.Call], folder: Path, *places: Path | str):
    """Repeat calls in the host program and describe the ones whose results differ in any bit."""
    recorded.write(calls, folder / "calls")
    command = [*runner, *map(str, places), str(THREADS), "calls", "results"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(THREADS)]  # in a region of its OpenMP
    return recorded.differences(calls, (folder / "results").read_bytes())


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> list[recorded.Call]:
    """Record the calls of the library compiled for this processor."""
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    library = tmp_path_factory.mktemp("compiled") / "library.so"
    (source,) = LIBRARY.sources
    subprocess.run(toolchain.cpu_command(compiler, str(source), str(library)), check=True)
    return recorded.record(library)


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that runs a Windows program in a fresh Windows."""
    environment = {
        "WINEPREFIX": str(tmp_path_factory.mktemp("windows")),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree,mshtml=",  # or Wine asks to install them
        # Wine lacks GetNumaNodeProcessorMaskEx, which the OpenMP library calls by default.
        "KMP_TOPOLOGY_METHOD": "flat",
    }
    return ["env", *(f"{name}={value}" for name, value in environment.items()), found("wine")]


@pytest.fixture(scope="module")
def image() -> Path:
    return image_for("linux-x86_64_v3")


@pytest.mark.skipif(not FMA, reason="the processor has no AVX2")
def test_an_image_gives_the_bits_of_what_is_compiled_here(image, compiled):
    calls = recorded.record(image)
    differ = [call.arguments for call, own in zip(calls, compiled, strict=True) if call != own]
    assert not differ


def differences_on_windows(wine, image: Path, target: str, calls, folder: Path) -> list[str]:
    """Repeat calls with a Windows image; skip the test without PyTorch's OpenMP for Windows."""
    library = openmp.WINDOWS
    if not library.exists():
        pytest.skip(f"there is no {library.name} of PyTorch's: python -m {openmp.__name__}")
    program = host(folder, target)
    places = [f"Z:{path.resolve()}" for path in (image, library)]
    return differences([*wine, str(program)], calls, folder, *places, "__kmpc_fork_call")


def differences_on_arm64(image: Path, calls, folder: Path) -> list[str]:
    """Repeat calls with the image for arm64; skip the test without QEMU or an OpenMP for it."""
    qemu, library = found("qemu-aarch64"), ARM64 / "lib" / "libgomp.so.1"
    if not library.exists():
        pytest.skip("libgomp1-arm64-cross is not installed")
    runner = [qemu, "-L", str(ARM64), str(host(folder, "linux-arm64"))]
    return differences(runner, calls, folder, image, library, "GOMP_parallel")


@pytest.mark.parametrize("level", ["x86_64_v2", "x86_64_v3"])
def test_on_windows_an_image_gives_the_bits_of_the_one_on_linux(level, wine, tmp_path):
    if level == "x86_64_v3" and not FMA:
        pytest.skip("the processor has no AVX2")
    calls, target = recorded.record(image_for(f"linux-{level}")), f"windows-{level}"
    assert not differences_on_windows(wine, image_for(target), target, calls, tmp_path)


@pytest.mark.skipif(not FMA, reason="the processor has no AVX2")
def test_on_arm64_an_image_gives_the_bits_of_the_one_on_x86_64(tmp_path):
    calls = recorded.record(image_for("linux-x86_64_v3"))
    assert not differences_on_arm64(image_for("linux-arm64"), calls, tmp_path)
