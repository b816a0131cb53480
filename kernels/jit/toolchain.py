"""The C++ compiler of this machine: its commands, its flags, and its identity."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, is_exact
from utils.translation.texts import mark, tr

SUFFIX = ".pyd" if sys.platform == "win32" else ".so"  # of a built library

_NO_GCC = mark("no C++ compiler found: install g++")
_NO_COMPILER = {
    "win32": mark(
        "no C++ compiler found: install the Visual Studio Build Tools and start from their prompt"
    ),
    "darwin": mark("no C++ compiler found: run xcode-select --install"),
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The compiler of CPU libraries and descriptions.

    `digest` covers everything about the compiler, and this CPU, that changes the code.
    """

    compiler: str
    digest: str


def toolchain() -> Toolchain:
    """Find the C++ compiler.

    Raises:
        BuildError: If the compiler is missing or does not run.
    """
    wanted = os.environ.get("CXX") or ("cl" if sys.platform == "win32" else "c++")
    compiler = shutil.which(wanted)
    if compiler is None:
        raise BuildError(tr(_NO_COMPILER.get(sys.platform, _NO_GCC)))
    return Toolchain(compiler, _fingerprint(compiler))


def cpu_command(compiler: str, source: str, library: str) -> list[str]:
    flags = [*compile_flags(exact=is_exact(Path(source))), f"-I{FOLDER}"]
    if sys.platform == "win32":
        return [compiler, *flags, "/LD", source, f"/Fe:{library}"]
    return [compiler, *flags, "-shared", source, "-o", library]


def description_command(
    compiler: str, source: str, library: str, headers: Iterable[Path], function: str
) -> list[str]:
    """Return the command that compiles a CUDA library's description, which runs without a GPU.

    `source` is plain C++ despite its CUDA name; C function `function` returns the description.
    """
    folders = [f"-I{folder}" for folder in (FOLDER, *headers)]
    if sys.platform == "win32":
        flags = ["/nologo", "/std:c++17", "/LD", *folders]
        return [compiler, *flags, f"/Tp{source}", f"/Fe:{library}", "/link", f"/EXPORT:{function}"]
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", *folders]
    return [compiler, *flags, "-x", "c++", source, "-o", library]


def compile_flags(*, exact: bool = False) -> list[str]:
    """Return flags for the C++ compiler, without fast-math, on which results must not depend.

    CPU libraries have a plain C interface and need neither PyTorch nor a C++ runtime. With `exact`,
    no product is contracted with a sum, see kernels.jit.libraries.is_exact.
    """
    if sys.platform == "win32":
        arch = {"AVX512": ["/arch:AVX512"], "AVX2": ["/arch:AVX2"]}
        level = arch.get(torch.backends.cpu.get_cpu_capability(), [])
        contraction = [] if exact else ["/fp:contract"]  # exact.h turns contraction off in MSVC
        return ["/nologo", "/std:c++17", "/O2", *contraction, *level]
    return [
        "-std=c++17",
        "-O3",
        _architecture(),
        f"-ffp-contract={'off' if exact else 'fast'}",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-exceptions",
        "-fno-rtti",
        "-fPIC",
        "-fvisibility=hidden",
    ]


def first_error(output: str) -> str:
    """Return the first error message in a compiler's output, without its location."""
    found = re.search(r"^.*?\b(?:fatal )?error\b(?: C\d+)?:?\s*(.+)$", output, re.MULTILINE)
    lines = [line for line in output.strip().splitlines() if line.strip()]
    line = found[1] if found else (lines[-1] if lines else "no output")
    return line.strip()[:200]


def load_error(error: OSError) -> str:
    """Return the message for a built library that the system's loader refuses."""
    return tr("the built library does not load: {error}", error=error)


def _fingerprint(compiler: str) -> str:
    """Return a hash of the compiler and, through its predefined macros, of the CPU."""
    if sys.platform == "win32":
        command = [compiler]  # prints its version and complains about missing input
    else:
        command = [compiler, _architecture(), "-dM", "-E", "-x", "c++", os.devnull]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(_not_running(compiler, error)) from error
    if sys.platform != "win32" and answer.returncode:
        line = answer.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise BuildError(_not_running(compiler, line))
    cpu = platform.processor() + torch.backends.cpu.get_cpu_capability()
    return hashlib.sha256(answer.stdout + answer.stderr + cpu.encode()).hexdigest()


def _not_running(compiler: str, error: object) -> str:
    return tr("the C++ compiler {compiler} does not run: {error}", compiler=compiler, error=error)


def _architecture() -> str:
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return "-mcpu=native"  # Apple's clang learned -march=native for ARM only recently
    return "-march=native"
