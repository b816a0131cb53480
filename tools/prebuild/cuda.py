"""Compiles the CUDA sources of a library into images for every GPU, on a machine without one.

    python -m tools.prebuild.cuda network OUT

It needs Python and a package index: compilers and headers are wheels, unpacked into a folder of
their own. `OUT` receives an image of each source for each architecture, compressed, and
`network.json`, which describes them; kernels/driver/images.py reads both.

The library says itself which sources and kernels it has: `<library>_abi.cu` is plain C++, compiled
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
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from ctypes import c_char_p
from pathlib import Path
from typing import Any

from kernels.driver import images
from kernels.jit.libraries import FOLDER, LIBRARIES
from tools.prebuild.nvrtc import Compiled, Toolkit, compile_source

# By the CUDA release that compiles for them. 12.6 is the last whose cubins every driver from 525 on
# loads and 12.8 the first that knows the last two; cubins of CUDA 13 need driver 580. The PTX is
# for GPUs newer than all of these, whose drivers are newer than 12.6.
ARCHITECTURES = {
    "12.6": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "compute_90"),
    "12.8": ("sm_100", "sm_120"),
}
PACKAGES = ("nvrtc", "runtime", "cccl", "nvcc")  # nvidia-cuda-<package>-cu12; of nvcc, the headers
ZIG = "ziglang==0.17.1"  # a C++ compiler for this machine


def build(library: str, folder: Path, tools: Path) -> Path:
    """Compile a library's sources for every GPU.

    Args:
        library: Its name in kernels.jit.libraries; it has a `<library>_abi.cu`.
        folder: Where images and list are written. Other files there are left alone.
        tools: Where compilers and headers are unpacked, or were by an earlier call.

    Returns:
        The list, `<library>.json`.

    Raises:
        subprocess.CalledProcessError: A wheel cannot be installed, or the description not compiled.
        CompilationError: A source does not compile.
    """
    toolkits = {release: unpacked(release, tools) for release in ARCHITECTURES}
    described = describe(library, toolkits["12.6"], tools)
    jobs = [
        (toolkits[release], FOLDER / source, FOLDER / "include", architecture, tuple(kernels))
        for source, (target, kernels) in kernels_of(described).items()
        for release, architectures in ARCHITECTURES.items()
        for architecture in architectures
        if runs_on(target, architecture)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[images.Image] = []
    names: dict[str, Mapping[str, str]] = {}
    # A process for each: two releases of NVRTC do not meet, and every core is used.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context, max_tasks_per_child=1) as pool:
        for (_, source, _, architecture, _), made in zip(
            jobs, pool.map(_compile, jobs), strict=True
        ):
            if names.setdefault(source.name, made.kernels) != made.kernels:
                raise RuntimeError(f"{source.name}: kernels have other names for {architecture}")
            rows.append(_write(folder, source.name, architecture, made.image))
    listed = images.ImageList(
        library, images.source_digest(LIBRARIES[library]), described, names, tuple(rows)
    )
    path = folder / f"{library}.json"
    path.write_text(listed.to_json(), "utf-8")
    return path


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
    """Build the library that the command line names."""
    parser = argparse.ArgumentParser(description="Compile a library for every GPU.")
    parser.add_argument("library", choices=sorted(name for name in LIBRARIES if _describes(name)))
    parser.add_argument("folder", type=Path, help="where images and list are written")
    parser.add_argument("--tools", type=Path, default=Path("build/prebuild-tools").resolve())
    arguments = parser.parse_args()
    if platform.system() != "Linux":
        parser.error("images are built on Linux")
    began = time.monotonic()
    path = build(arguments.library, arguments.folder, arguments.tools.resolve())
    sizes = [file.stat().st_size for file in path.parent.glob("*.xz")]
    sys.stdout.write(
        f"{path}: {len(sizes)} images, {sum(sizes) / 1e6:.1f} MB, "
        f"{time.monotonic() - began:.0f} s\n"
    )


def _describes(library: str) -> bool:
    return (FOLDER / f"{library}_abi.cu").exists()


if __name__ == "__main__":
    main()
