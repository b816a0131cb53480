"""Compiles the CUDA sources of a library into images for every GPU, on a machine without one.

    python -m tools.prebuild.cuda OUT

It needs Linux, Python and a package index: compilers and headers are wheels, unpacked into a folder
of their own. `OUT` receives an image of each source for each architecture, compressed, and for each
library `<library>.json`, which describes them; kernels/driver/images.py reads both.

A library says itself which sources and kernels it has: `<library>_abi.cu` is plain C++, compiled
for this machine, that returns its description as JSON.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import lzma
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from ctypes import c_char_p
from pathlib import Path
from typing import Any

from kernels.driver import images
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, LIBRARIES, Library
from tools.prebuild.nvrtc import Compiled, Toolkit, compile_source

# By the CUDA release that compiles for them. 12.6 is the last whose cubins every driver from 525 on
# loads and 12.8 the first that knows the last two; cubins of CUDA 13 need driver 580. The PTX is
# for GPUs newer than all of these, whose drivers are newer than 12.6.
ARCHITECTURES = {
    "12.6": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "compute_90"),
    "12.8": ("sm_100", "sm_120"),
}
PACKAGES = ("nvrtc", "runtime", "cccl", "nvcc")  # nvidia-cuda-<package>-cu12; of nvcc, the headers
TOOLS = FOLDER.parent / "build" / "prebuild-tools"
ZIG = "ziglang==0.17.1"  # a C++ compiler for this machine


def build(folder: Path, tools: Path = TOOLS) -> list[Path]:
    """Compile every library that has a `<library>_abi.cu`, for every GPU.

    Args:
        folder: Where images and lists are put. A library whose list there is of the same sources is
            not compiled again.
        tools: Where compilers and headers are unpacked, or were by an earlier call.

    Returns:
        The images and lists, made now or before.

    Raises:
        subprocess.CalledProcessError: A wheel cannot be installed, or a description not compiled.
        CompilationError: A source does not compile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for name, library in LIBRARIES.items():
        if not (FOLDER / f"{name}_abi.cu").exists():
            continue
        listed = made_before(library, folder) or _build(library, folder, tools.resolve())
        files += [folder / f"{name}.json", *(folder / image.file for image in listed.images)]
    return files


def made_before(library: Library, folder: Path) -> images.ImageList | None:
    """The list in `folder` if it is of these sources and every image is there and whole."""
    try:
        listed = images.ImageList.read(folder, library.name)
        for image in listed.images:
            listed.load(folder, image)
    except BuildError:
        return None
    return listed if listed.digest == library.digest else None


def _build(library: Library, folder: Path, tools: Path) -> images.ImageList:
    toolkits = {release: unpacked(release, tools) for release in ARCHITECTURES}
    described = describe(library.name, toolkits["12.6"], tools)
    jobs = [
        (toolkits[release], FOLDER / source, FOLDER / "include", architecture, tuple(kernels))
        for source, (target, kernels) in kernels_of(described).items()
        for release, architectures in ARCHITECTURES.items()
        for architecture in architectures
        if runs_on(target, architecture)
    ]
    rows: list[images.Image] = []
    names: dict[str, Mapping[str, str]] = {}
    # A process for each: two releases of NVRTC do not meet, and every core is used.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context, max_tasks_per_child=1) as pool:
        results = pool.map(_compile, jobs)
        for (_, source, _, architecture, _), made in zip(jobs, results, strict=True):
            if names.setdefault(source.name, made.kernels) != made.kernels:
                raise RuntimeError(f"{source.name}: kernels have other names for {architecture}")
            rows.append(_write(folder, source.name, architecture, made.image))
    listed = images.ImageList(library.name, library.digest, described, names, tuple(rows))
    (folder / f"{library.name}.json").write_text(listed.to_json(), "utf-8")
    return listed


def runs_on(target: str, architecture: str) -> bool:
    """Whether a source is compiled for an architecture.

    Args:
        target: The least architecture that the source is written for, or, with "a", the only one.
        architecture: As in ARCHITECTURES.
    """
    if target.endswith("a"):
        return architecture == f"sm_{target}"
    number = architecture.partition("_")[2]
    return number.isdecimal() and int(number) >= int(target)


def kernels_of(described: Mapping[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """What a description lists to be compiled: target and kernels of each source."""
    return {
        part["source"]: (part["target"], sorted(set(_kernels(part))))
        for part in described.values()
        if "source" in part
    }


def describe(library: str, toolkit: Toolkit, tools: Path) -> dict[str, Any]:
    """Compile `<library>_abi.cu` for this machine and read what it returns."""
    built = tools / f"{library}_abi.so"
    command = [sys.executable, "-m", "ziglang", "c++", "-x", "c++", "-std=c++17", "-shared"]
    command += ["-fPIC", "-O1", *(f"-I{path}" for path in toolkit.headers)]
    command += ["-o", str(built), str(FOLDER / f"{library}_abi.cu")]
    paths = {"PYTHONPATH": str(_install(ZIG, tools)), "ZIG_GLOBAL_CACHE_DIR": str(tools / "cache")}
    subprocess.run(command, check=True, env=os.environ | paths)
    function = getattr(ctypes.CDLL(str(built)), f"styleforge_{library}_abi")
    function.restype = c_char_p
    return json.loads(function())


def unpacked(release: str, tools: Path) -> Toolkit:
    """NVRTC and the headers of a CUDA release, installed into `tools` if they are not there."""
    folders = [_install(f"nvidia-cuda-{name}-cu12=={release}.*", tools) for name in PACKAGES]
    found = {name: folder / "nvidia" for name, folder in zip(PACKAGES, folders, strict=True)}
    library = found["nvrtc"] / "cuda_nvrtc" / "lib"
    return Toolkit(
        library / "libnvrtc.so.12",
        library / f"libnvrtc-builtins.so.{release}",
        tuple(found[name] / f"cuda_{name}" / "include" for name in PACKAGES if name != "nvrtc"),
    )


def _install(requirement: str, tools: Path) -> Path:
    """The folder into which pip has unpacked a requirement, without what it depends on."""
    folder = tools / requirement.replace("*", "x")
    if not folder.exists():
        temporary = tools / f"{folder.name}.part{os.getpid()}"
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        command += ["--no-deps", "--only-binary=:all:", "--target", str(temporary), requirement]
        subprocess.run(command, check=True)
        temporary.rename(folder)
    return folder


def _kernels(described: object) -> Iterator[str]:
    """The names of all kernels in a description: the texts below the keys "kernels"."""
    if isinstance(described, Mapping):
        for key, value in described.items():
            yield from _texts(value) if key == "kernels" else _kernels(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        for each in value.values():
            yield from _texts(each)


def _compile(job: tuple[Toolkit, Path, Path, str, tuple[str, ...]]) -> Compiled:
    return compile_source(*job)


def _write(folder: Path, source: str, architecture: str, image: bytes) -> images.Image:
    name = f"{Path(source).stem}.{architecture}.xz"
    (folder / name).write_bytes(lzma.compress(image, preset=9 | lzma.PRESET_EXTREME))
    return images.Image(name, source, architecture, hashlib.sha256(image).hexdigest())


def main() -> None:
    """Build into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Compile the CUDA sources for every GPU.")
    parser.add_argument("folder", type=Path, help="where images and lists are put")
    parser.add_argument("--tools", type=Path, default=TOOLS, help=f"default: {TOOLS}")
    arguments = parser.parse_args()
    began = time.monotonic()
    sizes = [file.stat().st_size for file in build(arguments.folder, arguments.tools)]
    took = time.monotonic() - began
    sys.stdout.write(f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, {took:.0f} s\n")


if __name__ == "__main__":
    main()
