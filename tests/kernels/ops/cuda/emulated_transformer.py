"""The kernels of transformers on the CPU, thread by thread, compiled for the host over emulator.h.

All but those for Hopper, whose instructions no emulator here has. They are launched as on a GPU, by
the library's own launchers, on tensors of the CPU.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from ctypes import Structure, byref, c_char_p, c_int
from pathlib import Path
from typing import Any

import pytest

from kernels.driver.compiling import sources_of
from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, LIBRARIES
from kernels.ops.cuda.transformer import Transformer
from tests.kernels.driver import stubs
from tests.kernels.network.emulated import MAIN, REWRITTEN

HERE = Path(__file__).parent
HOPPER = "90a"  # the target of kernels for it alone


class EmulatedKernels:
    """In place of a DriverLibrary.

    Attributes:
        names: Of all kernels.
        launched: The names of the kernels that ran.
        in_turn: The order of a block's threads, see emulator.h.
    """

    def __init__(self, built: Path, kernels: Iterable[str], sources: Iterable[str]) -> None:
        self._launch: Callable[..., bytes] = ctypes.CDLL(str(built)).emulated_launch
        self._launch.restype = c_char_p  # pyright: ignore[reportFunctionMemberAccess]
        self._numbers = {name: number for number, name in enumerate(kernels)}
        self.names = frozenset(self._numbers)
        self.sources = frozenset(sources)
        self.launched: set[str] = set()
        self.in_turn = False

    def kernel(
        self, source: str, name: str, threads: int, shared_bytes: int = 0, **_: Any
    ) -> Callable[[tuple[int, int, int], Any, Structure], int]:
        assert source in self.sources
        number = self._numbers[name]

        def launch(grid: tuple[int, int, int], _stream: Any, params: Structure) -> int:
            self.launched.add(name)
            numbers = map(c_int, (*grid, threads, shared_bytes, self.in_turn, False))
            failure = self._launch(number, byref(params), *numbers).decode()
            assert not failure, f"{name}: {failure}"
            return 0

        return launch


class EmulatedTransformer(Transformer):
    """The launchers over emulated kernels."""

    def __init__(self, described: Mapping[str, Any], kernels: EmulatedKernels) -> None:
        self._told: Any = described
        self._library: Any = kernels

    @property
    def kernels(self) -> EmulatedKernels:
        return self._library


def built_or_skipped(folder: Path) -> EmulatedTransformer:
    """Compile every kernel; without a compiler or CUDA's headers, the test is skipped."""
    described = stubs.description("transformer", folder)
    sources = [s for s in sources_of(LIBRARIES["transformer"], described) if s.target != HOPPER]
    kernels = [name for source in sources for name in source.kernels]
    for path in (*FOLDER.glob("include/**/*.[ch]*"), *(FOLDER / each.name for each in sources)):
        text = path.read_text("utf-8")
        for pattern, instead in REWRITTEN.items():
            text = re.sub(pattern, instead, text)
        copy = folder / path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    (folder / "include/common/ptx.cuh").write_text('#include "emulated_ptx.h"\n')
    (folder / "include/attention/ptx.cuh").write_text('#include "emulated_attention_ptx.h"\n')
    main, built = folder / "main.cpp", folder / "emulated.so"
    included = ("emulated_attention_ptx.h", *(source.name for source in sources))
    includes = "\n".join(f'#include "{name}"' for name in included)
    launchers = ", ".join(f"launch<&{name}>" for name in kernels)
    main.write_text(MAIN.format(includes=includes, launchers=launchers))
    flags = ["-std=c++17", "-O2", "-U_FORTIFY_SOURCE", "-w", "-shared", "-fPIC"]
    network = HERE.parents[1] / "network"  # where emulator.h is
    folders = [f"-I{path}" for path in (folder, HERE, network, *stubs.headers())]
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    command = [compiler, *flags, *folders, "-o", str(built), str(main)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return EmulatedTransformer(
        described, EmulatedKernels(built, kernels, (source.name for source in sources))
    )
