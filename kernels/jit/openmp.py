"""Access to PyTorch's OpenMP, whose threads run the CPU kernels.

A process that loads two OpenMP libraries has two thread pools that compete for the cores. The
kernels are therefore linked with none. They receive the function of PyTorch's library that starts a
parallel region.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import c_void_p
from pathlib import Path

import torch

from kernels.jit.errors import BuildError
from utils.translation.texts import tr

# File names by the library's entry point: GNU's OpenMP, and LLVM's with Intel's.
_PATTERNS = {
    "linux": {"GOMP_parallel": "libgomp*.so*", "__kmpc_fork_call": "lib[io]*mp*.so*"},
    "darwin": {"__kmpc_fork_call": "lib[io]*mp*.dylib"},
    "win32": {"__kmpc_fork_call": "lib[io]*mp*md.dll"},
}


def use_openmp(library: ctypes.CDLL) -> None:
    """Give PyTorch's threads to a library of CPU kernels, before any of its functions is called.

    A library that does not include `cpu/parallel.h` runs nothing in parallel and needs none.

    Raises:
        BuildError: If PyTorch came without a known OpenMP library.
    """
    if not hasattr(library, "styleforge_use_openmp"):
        return
    name, address = _entry_point()
    gomp, kmpc = (address, None) if name == "GOMP_parallel" else (None, address)
    use = library.styleforge_use_openmp
    use.argtypes, use.restype = (c_void_p, c_void_p), None
    use(gomp, kmpc)


@functools.cache
def _entry_point() -> tuple[str, int]:
    folder = Path(torch.__file__).parent / "lib"
    for name, pattern in _PATTERNS.get(sys.platform, {}).items():
        # The first that loads is the file of the library that is already in the process.
        for path in sorted(folder.glob(pattern)):
            function = getattr(ctypes.CDLL(str(path)), name, None)
            if function is not None and (address := ctypes.cast(function, c_void_p).value):
                return name, address
    raise BuildError(tr("PyTorch's OpenMP library was not found in {folder}", folder=folder))
