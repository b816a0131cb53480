"""Compiles one CUDA source with NVRTC, through ctypes, and names the kernels in it.

NVRTC is CUDA's compiler as a library: it needs neither nvcc nor a host compiler nor a GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path

# C and C++ headers that NVRTC lacks, by the names in the sources' includes.
SHIMS = {
    "math.h": "include/nvrtc/math.h",
    "stdint.h": "include/nvrtc/stdint.h",
    "type_traits": "include/nvrtc/type_traits.h",
}
# The second lets functions without a qualifier, such as in the shims, run on the GPU.
OPTIONS = ("--std=c++17", "-default-device")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """NVRTC and its headers; libnvrtc loads `builtins` by name."""

    library: Path
    builtins: Path
    headers: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The result of compiling a source.

    Attributes:
        image: A cubin, or PTX.
        kernels: Each requested kernel's name in the image, by C++ name.
        log: The compiler's remarks on a valid source, such as performance warnings.
    """

    image: bytes
    kernels: Mapping[str, str]
    log: str


class CompilationError(RuntimeError):
    """Raised if NVRTC refuses a source; the message is NVRTC's."""


def compile_source(
    toolkit: Toolkit,
    source: Path,
    root: Path,
    architecture: str,
    kernels: Sequence[str],
    defines: Sequence[str] = (),
    *,
    exact: bool = False,
) -> Compiled:
    """Compile a source for one architecture.

    Args:
        source: A CUDA source whose includes are relative to its own folder or to `root`.
        root: The folder `kernels/`, with SHIMS.
        architecture: "sm_90a" for a cubin, "compute_90" for PTX.
        kernels: C++ names of the kernels to instantiate.
        exact: Whether to contract no product with a sum, see kernels.jit.libraries.is_exact.

    Raises:
        CompilationError: If the source does not compile.
    """
    ctypes.CDLL(str(toolkit.builtins))  # libnvrtc looks for it only by name
    nvrtc = ctypes.CDLL(str(toolkit.library))
    nvrtc.nvrtcGetErrorString.restype = c_char_p

    def call(name: str, *arguments: object) -> None:
        if error := getattr(nvrtc, name)(*arguments):
            raise CompilationError(f"{name}: {nvrtc.nvrtcGetErrorString(error).decode()}")

    def read(name: str) -> bytes:
        size = c_size_t()
        call(f"nvrtcGet{name}Size", program, byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        call(f"nvrtcGet{name}", program, buffer)
        return buffer.raw

    program = c_void_p()
    shims = [(root / path).read_bytes() for path in SHIMS.values()]
    call(
        "nvrtcCreateProgram",
        byref(program),
        source.read_bytes(),
        source.name.encode(),
        len(shims),
        _strings(shims),
        _strings([name.encode() for name in SHIMS]),
    )
    for kernel in kernels:
        call("nvrtcAddNameExpression", program, kernel.encode())
    options = [
        f"--gpu-architecture={architecture}",
        *OPTIONS,
        *(("--fmad=false",) if exact else ()),
        *(f"--define-macro={name}" for name in defines),
        *(f"--include-path={folder}" for folder in (source.parent, root, *toolkit.headers)),
    ]
    outcome: int = nvrtc.nvrtcCompileProgram(
        program, len(options), _strings([option.encode() for option in options])
    )
    if outcome:
        told = read("ProgramLog").rstrip(b"\0").decode(errors="replace")
        raise CompilationError(f"{source.name} for {architecture}:\n{told}")
    names: dict[str, str] = {}
    for kernel in kernels:
        name = c_char_p()
        call("nvrtcGetLoweredName", program, kernel.encode(), byref(name))
        names[kernel] = (name.value or b"").decode()
    image = read("CUBIN" if architecture.startswith("sm_") else "PTX")
    log = read("ProgramLog").rstrip(b"\0").decode(errors="replace")
    call("nvrtcDestroyProgram", byref(program))
    return Compiled(image, names, log)


def version(library: Path) -> str:
    """Return NVRTC's CUDA release, such as "12.6".

    Raises:
        OSError: If the library does not load.
    """
    nvrtc = ctypes.CDLL(str(library))
    nvrtc.nvrtcVersion.argtypes = [POINTER(c_int), POINTER(c_int)]
    major, minor = c_int(), c_int()
    nvrtc.nvrtcVersion(byref(major), byref(minor))
    return f"{major.value}.{minor.value}"


def _strings(texts: Sequence[bytes]) -> ctypes.Array[c_char_p]:
    return (c_char_p * len(texts))(*texts)
