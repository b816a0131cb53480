"""Compiles candidates, each in a process of a pool, and reads the compiler's numbers about them.

Numbers such as shared memory come from the C++ traits. An instance of `numbers` has them as
template arguments, and the compiler writes them into its name.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, cast

from kernels.jit import nvrtc
from kernels.jit.libraries import FOLDER
from kernels.jit.nvrtc import CompilationError, Toolkit
from kernels.tuning.candidates import NAMESPACE

# The traits' names for a layer's entries in the description.
MEMBERS = {
    "tile_h": "kTileH",
    "tile_w": "kTileW",
    "block_k": "kChunk",
    "taps": "kTaps",
    "phases": "kPhases",
    "depth": "kDepth",
    "rows": "kWeightRows",
    "threads": "kThreads",
    "blocks": "kBlocks",
    "shared_bytes": "kSharedBytes",
    "occupied_bytes": "kOccupiedBytes",
}
_NUMBER = re.compile(r"L[il](n?\d+)E")  # a template argument, mangled by the Itanium ABI
_TRAITS = re.compile(r"styleforge::sm80::\w+Layers<styleforge::sm80::\w+>::\w+")
_ERROR = re.compile(r"error: (.+)")


class DoesNotFit(Exception):
    """Raised if a candidate's blocks need more than a multiprocessor has; the message says what."""


@dataclass(frozen=True, slots=True)
class Request:
    """A candidate to compile, by its traits' C++ name in NAMESPACE.

    `shipped` describes the library's layer; all blocks of a multiprocessor share `shared_bytes`.
    """

    traits: str
    shipped: Mapping[str, Any]
    dtypes: tuple[str, ...]
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Made:
    """A compiled candidate.

    Attributes:
        traits: Their C++ name in NAMESPACE.
        described: A description like the library's of a layer, without `kind`.
        image: Its kernels, as a cubin.
        kernels: Each kernel's name in the image, by C++ name.
    """

    traits: str
    described: Mapping[str, Any]
    image: bytes
    kernels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler of candidates, from a source of the network, for one as "sm_86"."""

    toolkit: Toolkit
    source: Path
    architecture: str
    defines: tuple[str, ...] = ()
    root: Path = FOLDER

    def compile(self, names: tuple[str, ...]) -> nvrtc.Compiled:
        """Compile the kernels with these C++ names.

        Raises:
            CompilationError: If a kernel does not compile.
        """
        return nvrtc.compile_source(
            self.toolkit, self.source, self.root, self.architecture, names, self.defines
        )


def make(compiler: Compiler, request: Request) -> Made:
    """Compile a candidate.

    Raises:
        CompilationError: If the candidate does not compile, for example because of a
            `static_assert`.
        DoesNotFit: If its blocks need more shared memory than the GPU has.
    """
    traits = NAMESPACE + request.traits
    known = [name for name in MEMBERS if name in request.shipped]
    members = ", ".join(f"{traits}::{MEMBERS[name]}" for name in known)
    numbers = f"{NAMESPACE}numbers<{members}>"
    # Without kernels, it takes a tenth of a second to rule out impossible candidates.
    (mangled,) = compiler.compile((numbers,)).kernels.values()
    found = [int(number.replace("n", "-")) for number in _NUMBER.findall(mangled)]
    row = dict(zip(known, found, strict=True))
    needed = row["occupied_bytes"] * row["blocks"]
    if needed > request.shared_bytes:
        raise DoesNotFit(
            f"needs {needed:,} bytes of shared memory; there are only {request.shared_bytes:,}"
        )
    shipped = cast("Mapping[str, Mapping[str, str]]", request.shipped["kernels"])
    kernels = {
        dtype: {variant: _with_traits(name, traits) for variant, name in variants.items()}
        for dtype, variants in shipped.items()
        if dtype in request.dtypes
    }
    names = tuple(name for variants in kernels.values() for name in variants.values())
    compiled = compiler.compile(names)
    rest = {key: value for key, value in request.shipped.items() if key != "kind"}
    return Made(
        request.traits, {**rest, **row, "kernels": kernels}, compiled.image, compiled.kernels
    )


class Pool:
    """A pool of processes that compile. Ctrl+C reaches only this process."""

    def __init__(self, compiler: Compiler, processes: int) -> None:
        self._compiler = compiler
        self._others = set(active_children())
        self._pool = ProcessPoolExecutor(
            processes, get_context("spawn"), initializer=_ignore_interrupts
        )

    def submit(self, request: Request) -> Future[Made]:
        """Start to compile a candidate; the result raises the errors of `make`."""
        return self._pool.submit(make, self._compiler, request)

    def close(self) -> None:
        """End the processes, even while they compile."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - self._others:
            process.terminate()
            process.join()


def why_not(error: Exception) -> str:
    """Return why a candidate is not available, in one line."""
    found = _ERROR.search(str(error)) if isinstance(error, CompilationError) else None
    return f"does not compile: {found[1]}" if found else str(error).partition("\n")[0]


def _with_traits(kernel: str, traits: str) -> str:
    renamed, count = _TRAITS.subn(traits, kernel)
    assert count == 1, f"{kernel} has one layer's traits"
    return renamed


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
