"""The kernels for any model on the CPU, thread by thread, compiled for the host over emulator.h.

They are launched as on a GPU, by the library's own launchers, on tensors of the CPU.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kernels.driver.compiling import sources_of
from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, LIBRARIES
from kernels.ops.cuda.library import LibraryKernels
from tests.kernels.driver import stubs
from tests.kernels.network.emulated import MAIN, REWRITTEN
from tests.kernels.ops.cuda.emulated_transformer import EmulatedKernels

NETWORK = Path(__file__).parents[2] / "network"  # where emulator.h is


class EmulatedLibrary(LibraryKernels):
    """The launchers over emulated kernels."""

    def __init__(self, described: Mapping[str, Any], kernels: EmulatedKernels) -> None:
        self._told: Any = described
        self._library: Any = kernels

    @property
    def kernels(self) -> EmulatedKernels:
        return self._library


def built_or_skipped(folder: Path) -> EmulatedLibrary:
    """Compile every kernel; without a compiler or CUDA's headers, the test is skipped."""
    described = stubs.description("library", folder)
    sources = sources_of(LIBRARIES["library"], described)
    kernels = [name for source in sources for name in source.kernels]
    for path in (*FOLDER.glob("include/**/*.[ch]*"), *(FOLDER / each.name for each in sources)):
        text = path.read_text("utf-8")
        for pattern, instead in REWRITTEN.items():
            text = re.sub(pattern, instead, text)
        copy = folder / path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    main, built = folder / "main.cpp", folder / "emulated.so"
    includes = "\n".join(f'#include "{source.name}"' for source in sources)
    launchers = ", ".join(f"launch<&{name}>" for name in kernels)
    text = MAIN.replace('#include "emulated_ptx.h"', '#include "emulator.h"')
    main.write_text(text.format(includes=includes, launchers=launchers))
    flags = ["-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-w", "-shared", "-fPIC"]
    folders = [f"-I{path}" for path in (folder, NETWORK, *stubs.headers())]
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    command = [compiler, *flags, *folders, "-o", str(built), str(main)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return EmulatedLibrary(
        described, EmulatedKernels(built, kernels, (source.name for source in sources))
    )
