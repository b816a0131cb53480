"""Every kernel compiles without warnings for every kind of architecture that has images.

Sources distinguish architectures by comparing __CUDA_ARCH__. Architectures that no comparison
separates are one kind.
"""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
from pathlib import Path

import pytest

from kernels.driver.compiling import Source, runs_on, sources_of
from kernels.jit.cuda_tools import nvcc
from kernels.jit.libraries import FOLDER, LIBRARIES
from tests.helpers.native import source
from tests.kernels.driver import stubs
from tools.prebuild.cuda import ARCHITECTURES, LEFT_OUT

LIBRARIES_OF_KERNELS = [library for library in LIBRARIES.values() if library.cuda]
SOURCES = [
    (library.name, source.name)
    for library in LIBRARIES_OF_KERNELS
    for source in library.sources
    if source != library.abi
]
NVCC = nvcc()
compiled = pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")
SUFFIXES = {".cu", ".cuh", ".h"}
COMPARISON = re.compile(r"__CUDA_ARCH__\s*[<>=]=?\s*(\d+)")

# nvcc only instantiates templates that are referenced.
EVERY_KERNEL = """\
#include "{source}"
extern const void* const kernels[] = {{
{rows}}};
"""


def limits() -> list[int]:
    texts = (path.read_text("utf-8") for path in FOLDER.rglob("*") if path.suffix in SUFFIXES)
    return sorted({int(limit) for text in texts for limit in COMPARISON.findall(text)})


def architectures() -> list[str]:
    """Return the first image architecture of each kind, and the last, that the toolkit knows."""
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
    """Return the flag that disables optimization, from CUDA 12.8 on; only sources matter here."""
    told = subprocess.run([str(NVCC), "--help"], capture_output=True, text=True, check=True)
    return ["--Ofast-compile=max"] if "--Ofast-compile" in told.stdout else []


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """Return the sources of each library, with their targets and kernels."""
    folder = tmp_path_factory.mktemp("abi")
    return {
        library.name: {
            source.name: source
            for source in sources_of(
                library, stubs.description_once(library.name, folder) if library.abi else {}
            )
        }
        for library in LIBRARIES_OF_KERNELS
    }


def why_not(source: Source, architecture: str) -> str:
    """Return why `source` has no image for the architecture; "" if it has one."""
    if not runs_on(source.target, f"sm_{architecture}", source.until):
        return f"it is for sm_{source.target}"
    # GPUs from 9.0 on run a source without images for them as PTX, which is built for 9.0.
    if f"sm_{architecture}" in LEFT_OUT.get(source.name, ()) and architecture != "90":
        return f"no image of it is made for sm_{architecture}"
    return ""


def compile_whole(source: Source, architecture: str, folder: Path) -> None:
    """Compile every kernel of `source`, with warnings as errors."""
    rows = "".join(f"    reinterpret_cast<const void*>(&{name}),\n" for name in source.kernels)
    every = folder / source.name
    every.write_text(EVERY_KERNEL.format(source=source.path, rows=rows), "utf-8")
    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    flags = [
        "-std=c++17",
        f"-I{FOLDER}",
        *quick(),
        "-Werror",
        "all-warnings",
        "-Xcompiler",
        "-Wall",
    ]
    command = [str(NVCC), *flags, target, "-cubin", "-o", str(folder / "out.cubin")]
    ran = subprocess.run([*command, str(every)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    image = (folder / "out.cubin").read_bytes()
    assert image.count(b".text.") >= len(source.kernels), "every kernel is in it"


@pytest.mark.full
@compiled
@pytest.mark.parametrize(("library", "source"), SOURCES)
def test_every_kernel_compiles_for_its_first_architecture(library, source, described, tmp_path):
    found = described[library][source]
    first = next(name for name in architectures() if not why_not(found, name))
    compile_whole(found, first, tmp_path)


@compiled
@pytest.mark.full
@pytest.mark.parametrize("architecture", architectures())
@pytest.mark.parametrize(("library", "source"), SOURCES)
def test_every_kernel_compiles_for_every_architecture(
    library, source, architecture, described, tmp_path
):
    found = described[library][source]
    if reason := why_not(found, architecture):
        pytest.skip(f"{source}: {reason}")
    compile_whole(found, architecture, tmp_path)


def test_every_source_is_described(described):
    named = [(library, source) for library, sources in described.items() for source in sources]
    assert sorted(named) == sorted(SOURCES)


def test_no_cuda_source_needs_a_torch_header():
    headers = {header for library in LIBRARIES_OF_KERNELS for header in library.headers}
    assert headers
    for path in (*headers, *(source(name) for _, name in SOURCES)):
        assert "torch" not in path.read_text("utf-8"), path
