"""Every kernel compiles, without a warning, for every kind of architecture that images are made
for: sources tell architectures apart by comparing __CUDA_ARCH__, and those that no comparison tells
apart are one kind."""

from __future__ import annotations

import functools
import itertools
import re
import subprocess

import pytest

from kernels.driver.compiling import runs_on, sources_of
from kernels.jit.cuda_tools import nvcc
from kernels.jit.libraries import FOLDER, LIBRARIES
from tests.kernels.driver import stubs
from tools.prebuild.cuda import ARCHITECTURES, LEFT_OUT

LIBRARIES_OF_KERNELS = [library for library in LIBRARIES.values() if library.cuda]
SOURCES = [
    (library.name, source)
    for library in LIBRARIES_OF_KERNELS
    for source in library.cuda
    if FOLDER / source != library.abi
]
NVCC = nvcc()
SUFFIXES = {".cu", ".cuh", ".h"}
COMPARISON = re.compile(r"__CUDA_ARCH__\s*[<>=]=?\s*(\d+)")

# nvcc instantiates those templates alone that something refers to.
EVERY_KERNEL = """\
#include "{source}"
extern const void* const kernels[] = {{
{rows}}};
"""


def limits() -> list[int]:
    """What sources compare __CUDA_ARCH__ with."""
    texts = (path.read_text("utf-8") for path in FOLDER.rglob("*") if path.suffix in SUFFIXES)
    return sorted({int(limit) for text in texts for limit in COMPARISON.findall(text)})


def architectures() -> list[str]:
    """Of those of the images that the toolkit knows, the first of each kind, and the last."""
    if NVCC is None:
        return []
    told = subprocess.run([NVCC, "--list-gpu-arch"], capture_output=True, text=True, check=True)
    known = {line.removeprefix("compute_") for line in told.stdout.split()}
    named = itertools.chain.from_iterable(ARCHITECTURES.values())
    wanted = [name.removeprefix("sm_") for name in named if name.startswith("sm_")]
    wanted = [name for name in wanted if name.removesuffix("a") in known]
    kinds: dict[tuple[str, ...], str] = {}
    for name in wanted:
        number = 10 * int(name.removesuffix("a"))
        below = tuple(str(limit) for limit in limits() if limit <= number)
        kinds.setdefault((*below, name[-1] * name.endswith("a")), name)
    return list(dict.fromkeys([*kinds.values(), wanted[-1]]))


@functools.cache
def quick() -> list[str]:
    """The flag that does without optimization, from CUDA 12.8 on: this is about the sources."""
    told = subprocess.run([str(NVCC), "--help"], capture_output=True, text=True, check=True)
    return ["--Ofast-compile=max"] if "--Ofast-compile" in told.stdout else []


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """The sources of each library, with their targets and kernels."""
    folder = tmp_path_factory.mktemp("abi")
    return {
        library.name: {
            source.name: source
            for source in sources_of(
                library, stubs.description(library.name, folder) if library.abi else {}
            )
        }
        for library in LIBRARIES_OF_KERNELS
    }


@pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")
@pytest.mark.parametrize("architecture", architectures())
@pytest.mark.parametrize(("library", "source"), SOURCES)
def test_every_kernel_compiles_without_a_warning(
    library, source, architecture, described, tmp_path
):
    found = described[library][source]
    if not runs_on(found.target, f"sm_{architecture}", found.until):
        pytest.skip(f"{source} is for sm_{found.target}")
    # GPUs from 9.0 on run the PTX of a source without images for them, which is made for 9.0.
    if f"sm_{architecture}" in LEFT_OUT.get(source, ()) and architecture != "90":
        pytest.skip(f"no image of {source} is made for sm_{architecture}")
    rows = "".join(f"    reinterpret_cast<const void*>(&{name}),\n" for name in found.kernels)
    every = tmp_path / source
    every.write_text(EVERY_KERNEL.format(source=FOLDER / source, rows=rows), "utf-8")
    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    flags = ["-std=c++17", *quick(), "-Werror", "all-warnings", "-Xcompiler", "-Wall"]
    command = [str(NVCC), *flags, target, "-cubin", "-o", str(tmp_path / "out.cubin")]
    ran = subprocess.run([*command, str(every)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    image = (tmp_path / "out.cubin").read_bytes()
    assert image.count(b".text.") >= len(found.kernels), "every kernel is in it"


def test_every_source_is_described(described):
    named = [(library, source) for library, sources in described.items() for source in sources]
    assert sorted(named) == sorted(SOURCES)


def test_no_cuda_source_needs_a_torch_header():
    headers = {header for library in LIBRARIES_OF_KERNELS for header in library.headers}
    assert headers
    for path in (*headers, *(FOLDER / source for _, source in SOURCES)):
        assert "torch" not in path.read_text("utf-8"), path
