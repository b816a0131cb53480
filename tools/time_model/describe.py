"""Takes down what the model needs of the general path's kernels: tiles, registers, shared memory.

It compiles as tools/prebuild/cuda.py does, with compilers from PyPI and without a GPU.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernels.jit import nvrtc
from kernels.jit.libraries import FOLDER, LIBRARIES
from kernels.jit.nvrtc import Toolkit
from tools.prebuild import cuda

RELEASE = "12.6"  # of CUDA, which compiles the images of these architectures
ARCHITECTURE = "sm_86"  # that registers are counted for: most of the cards in the table run it
STORED = "float16"

_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_KERNEL_SECTIONS = re.compile(r"\.(text|nv\.shared)\.(.+)")


def described(tools: Path = cuda.TOOLS) -> dict[str, Any]:
    """The entries "description" and "resources" of calibration.json, of the sources as they are.

    Args:
        tools: Where compilers and headers are unpacked, or were by an earlier call.

    Raises:
        subprocess.CalledProcessError: A wheel cannot be installed, or the description not compiled.
        CompilationError: The source does not compile.
    """
    toolkit = cuda.unpacked(RELEASE, tools.resolve())
    told = cuda.describe(LIBRARIES["network"], toolkit, tools.resolve())
    return {"description": without_names(told), "resources": resources(told, toolkit)}


def without_names(told: Any) -> Any:
    """A description without structs and the names of kernels."""
    if not isinstance(told, Mapping):
        return told
    return {
        key: {} if key == "kernels" else without_names(value)
        for key, value in told.items()
        if key != "structs"
    }


def resources(told: Mapping[str, Any], toolkit: Toolkit) -> dict[str, dict[str, int]]:
    """Registers and static shared memory of the general path's kernels in FP16.

    Args:
        told: What the library says of itself.
        toolkit: Compiles them.

    Returns:
        By the layer's name; of several variants, the most.

    Raises:
        CompilationError: The source does not compile.
    """
    sm80 = told["sm80"]
    layers = {**sm80["convs"], "first": sm80["first"], "last": sm80["last"]}
    names = {
        layer: tuple(name for name in row["kernels"][STORED].values() if name)
        for layer, row in layers.items()
    }
    every = tuple(sorted({name for some in names.values() for name in some}))
    compiled = nvrtc.compile_source(
        toolkit, FOLDER / sm80["source"], FOLDER / "include", ARCHITECTURE, every, ()
    )
    found = dict(kernel_resources(compiled.image))
    return {
        layer: {
            "registers": max(found[compiled.kernels[name]][0] for name in some),
            "static_shared_bytes": max(found[compiled.kernels[name]][1] for name in some),
        }
        for layer, some in names.items()
    }


def kernel_resources(image: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """Registers of a thread and static shared memory of a block, by kernel, of a cubin.

    Args:
        image: An ELF file of 64 bits. The number of registers is in the upper byte of the field
            `sh_info` of a kernel's section of instructions.
    """
    (start,) = struct.unpack_from("<Q", image, 40)
    size, count, names_at = struct.unpack_from("<HHH", image, 58)
    sections = [_SECTION.unpack_from(image, start + n * size) for n in range(count)]
    names_from = sections[names_at][4]
    registers: dict[str, int] = {}
    shared: dict[str, int] = {}
    for name_at, _, _, _, _, section_bytes, _, info, _, _ in sections:
        begin = names_from + name_at
        name = image[begin : image.index(b"\0", begin)].decode()
        if match := _KERNEL_SECTIONS.fullmatch(name):
            if match[1] == "text":
                registers[match[2]] = info >> 24
            else:
                shared[match[2]] = section_bytes
    for kernel, number in registers.items():
        yield kernel, (number, shared.get(kernel, 0))
