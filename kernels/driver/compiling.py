"""Compiles a CUDA library into a folder of images: here for this machine's GPUs, in tools for all.

A library describes its own sources and kernels: `<library>_abi.cu` is plain C++, compiled for this
machine, that returns the description as JSON. A library without one has the `extern "C"` kernels of
its sources.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import lzma
import multiprocessing
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from kernels.driver.images import OLDEST, Image, ImageList
from kernels.jit import nvrtc
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, Library, is_exact
from kernels.jit.nvrtc import Compiled, Toolkit
from kernels.jit.prebuilt import MANIFEST

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BOUNDS = r"(?:__launch_bounds__\s*\([^)]*\)\s*)?"
_KERNEL = re.compile(rf'extern\s+"C"\s+__global__\s+{_BOUNDS}void\s+{_BOUNDS}(\w+)\s*\(', re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A source with its kernels' C++ names in order.

    `target` is the minimum architecture, or with "a" the only one; `until` the first architecture
    with other kernels instead, empty if none.
    """

    path: Path
    target: str
    kernels: tuple[str, ...]
    until: str = ""

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, slots=True)
class Job:
    """A source to compile for an architecture, "sm_90a" or "compute_90"."""

    source: Source
    architecture: str
    toolkit: Toolkit
    defines: tuple[str, ...] = ()


def sources_of(library: Library, description: Mapping[str, Any]) -> list[Source]:
    """Return a library's sources that have kernels.

    Raises:
        BuildError: If a source has no kernel to launch, and the library has no `<library>_abi.cu`.
    """
    if library.abi is not None:
        return [
            Source(
                library.source(part["source"]),
                part["target"],
                tuple(sorted(set(_kernels(part)))),
                part.get("until", ""),
            )
            for part in description.values()
            if "source" in part
        ]
    oldest = "".join(map(str, OLDEST))
    return [Source(path, oldest, declared_kernels(path)) for path in library.sources]


def declared_kernels(source: Path) -> tuple[str, ...]:
    """Return a source's `extern "C" __global__` functions.

    Raises:
        BuildError: If the source declares none.
    """
    found = _KERNEL.findall(_COMMENT.sub(" ", source.read_text("utf-8")))
    if not found:
        raise BuildError(f'build failed: {source.name} has no extern "C" __global__ function')
    return tuple(sorted(set(found)))


def runs_on(target: str, architecture: str, until: str = "") -> bool:
    if target.endswith("a"):
        return architecture == f"sm_{target}"
    number = architecture.partition("_")[2]
    if not number.isdecimal():
        return False
    return int(target) <= int(number) and (not until or int(number) < int(until))


def architecture_for(target: str, capability: tuple[int, int], until: str = "") -> str | None:
    """Return the architecture to compile a source for on a GPU of this compute capability.

    Return None if the source has no code for such GPUs.
    """
    number = f"{capability[0]}{capability[1]}"
    architecture = f"sm_{target}" if target == f"{number}a" else f"sm_{number}"
    return architecture if runs_on(target, architecture, until) else None


def describe(
    library: Library,
    command: Sequence[str],
    built: Path,
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Compile `<library>_abi.cu` for this machine and read its result.

    `command` compiles it into the shared library `built`, by default in this process's environment.
    subprocess.CalledProcessError if it does not compile; `stdout` has the compiler's output.
    """
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment,
    )
    function = getattr(ctypes.CDLL(str(built)), f"styleforge_{library.name}_abi")
    function.restype = ctypes.c_char_p
    return json.loads(function())


class Compilers:
    """Processes that compile on every core; a context manager that ends them on exit.

    Each NVRTC release has its own processes, because two releases in one process interfere. A
    process compiles one source after another, because its start takes seconds.
    """

    def __init__(self) -> None:
        self._pools: dict[Toolkit, ProcessPoolExecutor] = {}

    def __enter__(self) -> Compilers:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)

    def submit(self, job: Job) -> Future[Compiled]:
        """Compile a source in another process as soon as a core is free.

        Only one thread at a time may call this.
        """
        pool = self._pools.get(job.toolkit)
        if pool is None:
            context = multiprocessing.get_context("spawn")
            pool = self._pools[job.toolkit] = ProcessPoolExecutor(os.cpu_count(), context)
        return pool.submit(_compile, _arguments(job))


def make(
    library: Library, description: Mapping[str, Any], jobs: Sequence[Job], folder: Path
) -> ImageList:
    """Compile images of a library into a folder on every core, with their list.

    Raises:
        CompilationError: If a source does not compile.
        BrokenProcessPool: If a compiler crashes.
    """
    with Compilers() as compilers:
        made = [compilers.submit(job) for job in jobs]
        return write_images(library, description, jobs, made, folder)


def write_images(
    library: Library,
    description: Mapping[str, Any],
    jobs: Sequence[Job],
    compiled: Sequence[Future[Compiled]],
    folder: Path,
) -> ImageList:
    """Write a library's compressed images as they are compiled, then their list; see `make`."""
    rows: list[Image] = []
    names: dict[str, Mapping[str, str]] = {}
    for job, future in zip(jobs, compiled, strict=True):
        name, made = job.source.name, future.result()
        if names.setdefault(name, made.kernels) != made.kernels:
            raise RuntimeError(f"{name}: the names of the kernels differ for {job.architecture}")
        rows.append(_write(folder, name, job.architecture, made.image))
    listed = ImageList(library.name, library.digest, description, names, tuple(rows))
    (folder / f"{library.name}.json").write_text(listed.to_json(), "utf-8")
    return listed


def write_manifest(folder: Path, images: Sequence[Path]) -> None:
    """List images and lists of a folder with their sha256."""
    made = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in images}
    (folder / MANIFEST).write_text(json.dumps({"images": made}, indent=1) + "\n", "utf-8")


_Arguments = tuple[Toolkit, Path, Path, str, tuple[str, ...], tuple[str, ...], bool]


def _arguments(job: Job) -> _Arguments:
    """Return all arguments of compile_source; a process may import another folder's modules."""
    source = job.source
    exact = is_exact(source.path)
    return job.toolkit, source.path, FOLDER, job.architecture, source.kernels, job.defines, exact


def _compile(arguments: _Arguments) -> Compiled:
    return nvrtc.compile_source(*arguments[:-1], exact=arguments[-1])


_PRESET = 9 | lzma.PRESET_EXTREME
# An instruction has 16 bytes, and a byte's position in it predicts the byte best: 5 % smaller.
_OF_MACHINE_CODE = {"id": lzma.FILTER_LZMA2, "preset": _PRESET, "lc": 0, "lp": 4, "pb": 4}
_OF_TEXT = {"id": lzma.FILTER_LZMA2, "preset": _PRESET}


def _write(folder: Path, source: str, architecture: str, image: bytes) -> Image:
    name = f"{Path(source).stem}.{architecture}.xz"
    coded = _OF_MACHINE_CODE if architecture.startswith("sm_") else _OF_TEXT
    (folder / name).write_bytes(lzma.compress(image, filters=[coded]))
    return Image(name, source, architecture, hashlib.sha256(image).hexdigest())


def _kernels(described: Any) -> Iterator[str]:
    if isinstance(described, dict):
        for key, value in cast("dict[str, Any]", described).items():
            yield from _texts(value) if key == "kernels" else _kernels(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        for each in value.values():
            yield from _texts(each)
