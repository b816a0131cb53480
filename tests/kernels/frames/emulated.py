"""The kernels around the network, with their own arithmetic, compiled for the host."""

from __future__ import annotations

import ctypes
import json
import subprocess
from ctypes import Structure, byref
from pathlib import Path

from kernels.frames.launchers import FrameKernels
from kernels.jit import toolchain
from kernels.jit.libraries import FOLDER
from tests.helpers import native
from tests.helpers.once import kept

SOURCE = Path(__file__).with_name("host.cpp")


def compiled(folder: Path) -> ctypes.CDLL:
    """Load the functions of host.cpp, compiled once for all runs of the same sources.

    Args:
        folder: This process's folder, from `tmp_path_factory.mktemp`.

    Raises:
        BuildError: If there is no C++ compiler.
    """
    compiler = toolchain.toolchain().compiler

    def made(to: Path) -> Path:
        built = to / "frames.so"
        flags = ["-std=c++17", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{FOLDER}"]
        flags.append("-ffp-contract=off")  # as in the GPU's compilation of the smoothing code
        subprocess.run([compiler, *flags, "-o", str(built), str(SOURCE)], check=True)
        return built

    return ctypes.CDLL(str(kept(folder, "frames", native.digest(()), made)))


class EmulatedFrameKernels(FrameKernels):
    """Frame kernels on the host; `launched` lists the names of the kernels that ran."""

    def __init__(self, host: ctypes.CDLL) -> None:
        host.styleforge_frames_abi.restype = ctypes.c_char_p
        self._describe(json.loads(host.styleforge_frames_abi()))
        self._host = host
        self.launched: list[str] = []

    def _launch(
        self,
        name: str,
        grid: tuple[int, int, int],
        *params: Structure,
        threads: int = 0,
        cluster: int = 1,
        overlap: bool = False,
    ) -> None:
        self.launched.append(name)
        getattr(self._host, name)(*map(byref, params))
