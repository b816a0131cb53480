"""Compiles the CUDA sources of a library into images for every GPU, on a machine without one.

    python -m tools.prebuild.cuda OUT

It needs Linux, Python and a package index: compilers and headers are wheels, unpacked into a
separate folder. `OUT` receives a compressed image of each source for each architecture, and for
each library `<library>.json`, which describes them; kernels/driver/images.py reads both.

kernels/driver/compiling.py defines the inputs and the outputs of the compilation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from kernels.driver import compiling, images
from kernels.driver.compiling import Job, runs_on, sources_of
from kernels.jit import toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, LIBRARIES, Library
from kernels.jit.nvrtc import Compiled, Toolkit

# By the CUDA release that compiles for them. 12.6 is the last whose cubins load in every driver
# from 525 on, and 12.8 the first that knows the last two; cubins of CUDA 13 need driver 580. The
# PTX is for GPUs newer than all of these, whose drivers are newer than 12.6. GPUs of 8.6 to 8.9 run
# the images for sm_80: no kernel has other code for them, and compiling everything again took a
# ninth of the time.
ARCHITECTURES = {
    "12.6": ("sm_75", "sm_80", "sm_90", "sm_90a", "compute_90"),
    "12.8": ("sm_100", "sm_120"),
}
# The architectures that a source is not compiled for, since each costs minutes and megabytes. In
# FP32, GPUs from 10.0 on run the PTX, and so does the lite network on Hopper. INT8 gains the most
# on GeForce, and runs as PTX on 9.0 and 10.0. For transformers, Hopper has machine code for its own
# kernels and the kernels around them. Turing has none for the first two rungs, which exist to be
# read. The 176 elementwise kernels are bound by memory and take a minute to compile for each.
_ON_PTX = ("sm_90", "sm_100", "sm_120")
LEFT_OUT = {
    "network_sm80_tf32.cu": _ON_PTX,
    "network_sm80_fp32.cu": _ON_PTX,
    "network_sm80_int8.cu": ("sm_90", "sm_100"),
    "attention.cu": ("sm_75", *_ON_PTX),
    "attention_v2.cu": ("sm_75", *_ON_PTX),
    "attention_v3.cu": _ON_PTX,
    "attention_v3_fp32.cu": _ON_PTX,
    "attention_v3_backward.cu": _ON_PTX,
    "ffn.cu": ("sm_100", "sm_120"),
    "output_projection.cu": ("sm_100", "sm_120"),
    "enlarging.cu": ("sm_100", "sm_120"),
    "depthwise.cu": ("sm_100", "sm_120"),
    "channel_statistics.cu": ("sm_100", "sm_120"),
    "token_norm.cu": ("sm_100", "sm_120"),
    "elementwise.cu": _ON_PTX,
    "fusion.cu": _ON_PTX,
    "reduction.cu": _ON_PTX,
    "loss.cu": _ON_PTX,
    "optim.cu": _ON_PTX,
    "attention_parts.cu": _ON_PTX,
    "model_inputs.cu": _ON_PTX,
    "split_products.cu": _ON_PTX,
    "relu_mask.cu": _ON_PTX,
}
PACKAGES = ("nvrtc", "runtime", "cccl", "nvcc")  # nvidia-cuda-<package>-cu12; of nvcc, the headers
TOOLS = FOLDER.parent / "build" / "prebuild-tools"
ZIG = "ziglang==0.17.1"  # a C++ compiler for this machine


def build(folder: Path, tools: Path = TOOLS) -> list[Path]:
    """Compile every library of CUDA sources, for every GPU.

    Args:
        folder: The folder for images and lists. A library is not compiled again if its list there
            has the same sources.
        tools: The folder of the unpacked compilers and headers; filled on the first call.

    Returns:
        The images and lists, new and existing.

    Raises:
        subprocess.CalledProcessError: If a wheel cannot be installed, or a description not
            compiled.
        BuildError: If a library has no kernels.
        CompilationError: If a source does not compile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    listed = {
        library.name: made_before(library, folder) for library in LIBRARIES.values() if library.cuda
    }
    missing = [LIBRARIES[name] for name, there in listed.items() if there is None]
    if missing:
        listed |= _build(missing, folder, tools.resolve())
    files: list[Path] = []
    for name, images_of_it in listed.items():
        assert images_of_it is not None
        files += [folder / f"{name}.json", *(folder / each.file for each in images_of_it.images)]
    return files


def made_before(library: Library, folder: Path) -> images.ImageList | None:
    """Return the list in `folder` if it is of these sources and every image is intact."""
    try:
        listed = images.ImageList.read(folder, library.name)
        for image in listed.images:
            listed.load(folder, image)
    except BuildError:
        return None
    return listed if listed.digest == library.digest else None


def _build(libraries: Sequence[Library], folder: Path, tools: Path) -> dict[str, images.ImageList]:
    """Compile libraries, by name.

    The cores start on the next library before the last one is complete.
    """
    toolkits = {release: unpacked(release, tools) for release in ARCHITECTURES}
    with compiling.Compilers() as compilers:
        under_way: list[tuple[Library, dict[str, Any], list[Job], list[Future[Compiled]]]] = []
        for library in libraries:
            described = describe(library, toolkits["12.6"], tools)
            jobs = _jobs(library, described, toolkits)
            under_way.append((library, described, jobs, [compilers.submit(job) for job in jobs]))
        return {
            library.name: compiling.write_images(library, described, jobs, compiled, folder)
            for library, described, jobs, compiled in under_way
        }


def _jobs(
    library: Library, described: Mapping[str, Any], toolkits: Mapping[str, Toolkit]
) -> list[Job]:
    return [
        Job(source, architecture, toolkits[release])
        for source in sources_of(library, described)
        for release, architectures in ARCHITECTURES.items()
        for architecture in architectures
        if runs_on(source.target, architecture, source.until)
        and architecture not in LEFT_OUT.get(source.name, ())
    ]


def describe(library: Library, toolkit: Toolkit, tools: Path) -> dict[str, Any]:
    """Return a library's description of itself; empty if the library has none.

    This machine's C++ compiler builds it, or Zig's if the machine has none. Zig first builds a C++
    library, which takes two and a half minutes; the description is the same.
    """
    if library.abi is None:
        return {}
    built = tools / f"{library.name}_abi.so"
    environment = None
    try:
        compiler = [toolchain.toolchain().compiler]
    except BuildError:
        compiler = [sys.executable, "-m", "ziglang", "c++"]
        paths = {"PYTHONPATH": str(_install(ZIG, tools))}
        environment = os.environ | paths | {"ZIG_GLOBAL_CACHE_DIR": str(tools / "cache")}
    function = f"styleforge_{library.name}_abi"
    _, *rest = toolchain.description_command(
        compiler[0], str(library.abi), str(built), toolkit.headers, function
    )
    return compiling.describe(
        library, [*compiler, *rest], built, folder=tools, environment=environment
    )


def unpacked(release: str, tools: Path) -> Toolkit:
    """Return NVRTC and the headers of a CUDA release; install them into `tools` if missing."""
    folders = [_install(requirement, tools) for requirement in _requirements(release)]
    found = {name: folder / "nvidia" for name, folder in zip(PACKAGES, folders, strict=True)}
    library = found["nvrtc"] / "cuda_nvrtc" / "lib"
    return Toolkit(
        library / "libnvrtc.so.12",
        library / f"libnvrtc-builtins.so.{release}",
        tuple(found[name] / f"cuda_{name}" / "include" for name in PACKAGES if name != "nvrtc"),
    )


def is_unpacked(release: str, tools: Path) -> bool:
    """Return whether `unpacked` would install nothing."""
    return all(_folder(requirement, tools).exists() for requirement in _requirements(release))


def _requirements(release: str) -> list[str]:
    return [f"nvidia-cuda-{name}-cu12=={release}.*" for name in PACKAGES]


def _folder(requirement: str, tools: Path) -> Path:
    return tools / requirement.replace("*", "x")


def _install(requirement: str, tools: Path) -> Path:
    """Return the folder where pip has unpacked a requirement, without its dependencies."""
    folder = _folder(requirement, tools)
    if not folder.exists():
        temporary = tools / f"{folder.name}.part{os.getpid()}"
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        command += ["--no-deps", "--only-binary=:all:", "--target", str(temporary), requirement]
        subprocess.run(command, check=True)
        temporary.rename(folder)
    return folder


def main() -> None:
    """Build into the folder named on the command line."""
    parser = argparse.ArgumentParser(description="Compile the CUDA sources for every GPU.")
    parser.add_argument("folder", type=Path, help="folder for the images and lists")
    parser.add_argument("--tools", type=Path, default=TOOLS, help=f"default: {TOOLS}")
    arguments = parser.parse_args()
    began = time.monotonic()
    sizes = [file.stat().st_size for file in build(arguments.folder, arguments.tools)]
    took = time.monotonic() - began
    sys.stdout.write(f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, {took:.0f} s\n")


if __name__ == "__main__":
    main()
