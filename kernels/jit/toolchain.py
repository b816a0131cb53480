"""What compiles on this machine: the compilers, their flags, and what identifies them."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import torch

from kernels.jit.errors import BuildError

SUFFIX = ".pyd" if sys.platform == "win32" else ".so"  # of a built library

_targets: set[str] = set()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What compiles a library.

    Attributes:
        compiler: The path of the C++ compiler.
        ninja: The path of ninja, which PyTorch's builder of CUDA libraries uses; else empty.
        digest: Covers everything about the compiler, and this CPU, that changes the code.
        environment: Variables that the compiling process needs.
    """

    compiler: str
    ninja: str
    digest: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def toolchain(*, cuda: bool = False) -> Toolchain:
    """Find the C++ compiler.

    Args:
        cuda: Find ninja and setuptools as well.

    Raises:
        BuildError: One is missing, or the compiler does not run; the message says which.
    """
    wanted = os.environ.get("CXX") or ("cl" if sys.platform == "win32" else "c++")
    compiler = shutil.which(wanted)
    if compiler is None:
        install = {
            "win32": "install the Visual Studio Build Tools and start from their prompt",
            "darwin": "run xcode-select --install",
        }.get(sys.platform, "install g++")
        raise BuildError(f"no C++ compiler found: {install}")
    ninja = shutil.which("ninja", path=search_path()) if cuda else ""
    if ninja is None:
        raise BuildError("ninja not found: run pip install ninja")
    if cuda and find_spec("setuptools") is None:  # which PyTorch's builder imports
        raise BuildError("setuptools not found: run pip install setuptools")
    return Toolchain(compiler, ninja, _fingerprint(compiler))


def cpu_command(compiler: str, source: str, library: str) -> list[str]:
    """The command that compiles a CPU library for this processor.

    Args:
        compiler: The path of the C++ compiler.
        source: The file to compile.
        library: The file to write.
    """
    if sys.platform == "win32":
        return [compiler, *compile_flags(), "/LD", source, f"/Fe:{library}"]
    return [compiler, *compile_flags(), "-shared", source, "-o", library]


def compile_flags() -> list[str]:
    """Flags for the C++ compiler of this platform. No fast-math: results must not depend on it.

    CPU libraries are plain C to the outside: they need neither PyTorch nor a C++ runtime.
    """
    if sys.platform == "win32":
        arch = {"AVX512": ["/arch:AVX512"], "AVX2": ["/arch:AVX2"]}
        level = arch.get(torch.backends.cpu.get_cpu_capability(), [])
        return ["/nologo", "/std:c++17", "/O2", "/fp:contract", *level]
    return [
        "-std=c++17",
        "-O3",
        _architecture(),
        "-ffp-contract=fast",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-exceptions",
        "-fno-rtti",
        "-fPIC",
        "-fvisibility=hidden",
    ]


def cuda_flags() -> list[str]:
    """Flags for nvcc. No fast-math here either; the architecture is that of the GPU present.

    STYLEFORGE_RACECHECK builds what compute-sanitizer's racecheck can follow, see
    tests/sanitizer/launch_all_kernels.py.
    """
    return ["-O3", *(["-DSTYLEFORGE_RACECHECK"] if "STYLEFORGE_RACECHECK" in os.environ else [])]


def use_targets(targets: Iterable[str]) -> None:
    """Name the architectures for which sources are written, as nvcc calls them.

    One with features of its own, such as "90a", is what a GPU of that architecture is compiled
    for; others change nothing. kernels.network.dispatch names those of its table of backends.
    """
    _targets.update(targets)


def cuda_environment() -> dict[str, str]:
    """The variables that the compiling process needs to compile for this GPU.

    Raises:
        BuildError: There is no GPU, no nvcc, or one of another CUDA release than PyTorch's.
    """
    if not torch.cuda.is_available():
        raise BuildError("no CUDA device")
    compiler = nvcc()
    if compiler is None:
        raise BuildError("no CUDA compiler found: install the CUDA toolkit (nvcc)")
    told = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    release = re.search(r"release (\d+)\.(\d+)", told.stdout)
    if release is None:
        raise BuildError(f"the CUDA compiler {compiler} does not run")
    theirs = str(torch.version.cuda).partition(".")[0]
    if release[1] != theirs:
        raise BuildError(f"nvcc is of CUDA {release[1]}, PyTorch of CUDA {theirs}: they must agree")
    return {
        "CUDA_HOME": str(Path(compiler).resolve().parent.parent),
        "TORCH_CUDA_ARCH_LIST": arch_list(*torch.cuda.get_device_capability()),
        "STYLEFORGE_NVCC": f"{release[1]}.{release[2]}",
    }


def arch_list(major: int, minor: int) -> str:
    """What PyTorch's builder compiles for on a GPU of this compute capability, such as "8.6"."""
    features = "a" if f"{major}{minor}a" in _targets else ""
    return f"{major}.{minor}{features}"


def nvcc() -> str | None:
    """The CUDA compiler: on the PATH, in CUDA_HOME or where Linux packages put it."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc") or shutil.which("nvcc", path=str(Path(home) / "bin"))


def search_path() -> str:
    """PATH, after the folders where pip puts ninja when its environment is not activated."""
    folders = [str(Path(sys.executable).parent), sysconfig.get_path("scripts")]
    return os.pathsep.join([*dict.fromkeys(folders), os.environ.get("PATH", os.defpath)])


def first_error(output: str) -> str:
    """The first line of a compiler's output that says what is wrong, without its place."""
    found = re.search(r"^.*?\b(?:fatal )?error\b(?: C\d+)?:?\s*(.+)$", output, re.MULTILINE)
    lines = [line for line in output.strip().splitlines() if line.strip()]
    line = found[1] if found else (lines[-1] if lines else "no output")
    return line.strip()[:200]


def load_error(error: OSError) -> str:
    """What the loader of this system says; PyTorch keeps it behind a sentence of its own."""
    return f"the built library does not load: {error.__cause__ or error}"


def _fingerprint(compiler: str) -> str:
    """Identifies the compiler and, through the macros it defines for this CPU, the CPU."""
    if sys.platform == "win32":
        command = [compiler]  # prints its version and complains that there is nothing to do
    else:
        command = [compiler, _architecture(), "-dM", "-E", "-x", "c++", os.devnull]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"the C++ compiler {compiler} does not run: {error}") from error
    if sys.platform != "win32" and answer.returncode:
        line = answer.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise BuildError(f"the C++ compiler {compiler} does not run: {line}")
    cpu = platform.processor() + torch.backends.cpu.get_cpu_capability()
    return hashlib.sha256(answer.stdout + answer.stderr + cpu.encode()).hexdigest()


def _architecture() -> str:
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return "-mcpu=native"  # Apple's clang learned -march=native for ARM only recently
    return "-march=native"
