"""A CUDA library is compiled into images in the cache, and loads like bundled images.

The GPU and its driver are stand-ins; NVRTC, the worker's steps and the files are real. On a GPU,
tests/kernels/network/test_images_on_gpu.py compiles in a child process.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
import torch

from kernels.driver import prebuilt as driver_images
from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.library import DriverLibrary
from kernels.driver.prebuilt import Gpu
from kernels.jit import build, libraries, prebuilt, toolchain
from kernels.jit.cuda_tools import CudaTools
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES, Library
from kernels.self_test import compile_worker

NAME = "scale_cuda"
SCALE = """\
extern "C" __global__ void scale(float* x, float factor) { x[threadIdx.x] *= factor; }
"""
HOPPER = Gpu("H200", (9, 0))


@pytest.fixture
def tools(toolkit):
    return CudaTools(toolkit, "12.6", ((9, 0),), ())


@pytest.fixture
def source(tmp_path, monkeypatch, toolkit, tools, stub_path):
    """Return a library's one source, on a machine with a GPU whose driver launches nothing."""
    try:
        toolchain.toolchain()
    except BuildError as error:
        pytest.skip(str(error))
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    (tmp_path / "include").symlink_to(libraries.FOLDER / "include")
    monkeypatch.setattr(libraries, "FOLDER", tmp_path)
    monkeypatch.setitem(LIBRARIES, NAME, Library(NAME, cuda=("scale.cu",)))
    monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STYLEFORGE_BUILD", "1")
    for name in ("_reasons", "_origins", "_handles"):
        monkeypatch.setattr(build, name, {})
    monkeypatch.setattr(build, "cuda_tools", lambda: tools)
    monkeypatch.setattr(compile_worker, "cuda_tools", lambda: tools)
    for module in (driver_images, compile_worker):
        monkeypatch.setattr(module, "present", lambda: (HOPPER,))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _index: HOPPER.capability)
    monkeypatch.setattr(driver_images, "Driver", lambda: Driver(str(stub_path)))
    monkeypatch.setattr(Driver, "load", lambda *_: 1)  # the stub accepts no machine code
    cudnn = torch.backends.cudnn
    monkeypatch.setattr(cudnn, "allow_tf32", cudnn.allow_tf32)  # the worker changes it
    return path


@pytest.fixture
def builds(monkeypatch, source):
    """Return the build folders; builds run in this process, which has the stand-ins."""
    made: list[Path] = []

    def work(arguments, environment, folder, logfile):
        monkeypatch.setenv("CXX", environment["CXX"])
        made.append(folder)
        compile_worker.main(arguments[0], Path(arguments[1]), *arguments[2:])
        return json.loads((folder / "result.json").read_text("utf-8"))

    monkeypatch.setattr(build, "_run_worker", work)
    return made


def start_anew(monkeypatch):
    for name in ("_reasons", "_origins", "_handles"):
        monkeypatch.setattr(build, name, {})


def built_in() -> Path:
    (folder,) = (path for path in build.cache().glob(f"{NAME}-*") if path.is_dir())
    return folder


def test_a_library_is_compiled_into_images_and_loaded(builds, monkeypatch):
    assert build.load(NAME), build.reason(NAME)
    assert build.origin(NAME) == "compiled on this machine"
    library = build.handle(NAME).on(torch.device("cuda:0"))
    assert isinstance(library, DriverLibrary)
    assert library.source_of("scale") == "scale.cu"
    assert {path.name for path in built_in().iterdir()} == {
        *(f"{NAME}.json", "scale.sm_90.xz", prebuilt.MANIFEST)
    }
    listed = ImageList.read(built_in(), NAME)
    assert [image.architecture for image in listed.images] == ["sm_90"]
    assert not list(build.cache().glob("*.build-*"))
    # The next process compiles nothing.
    start_anew(monkeypatch)
    assert build.load(NAME)
    assert len(builds) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "scale.sm_90.xz").write_bytes(lzma.compress(b"other")),
        lambda folder: (folder / "scale.sm_90.xz").unlink(),
        lambda folder: (folder / f"{NAME}.json").write_text("{}"),
        lambda folder: (folder / prebuilt.MANIFEST).write_text(""),
        lambda folder: (folder / prebuilt.MANIFEST).unlink(),
    ],
    ids=["altered", "missing", "list", "manifest", "no manifest"],
)
def test_a_damaged_build_is_made_again(damage, builds, monkeypatch):
    assert build.load(NAME)
    damage(built_in())
    start_anew(monkeypatch)
    assert build.load(NAME), build.reason(NAME)
    assert len(builds) == 2


def test_a_build_that_others_can_write_to_is_neither_loaded_nor_thrown_away(builds, monkeypatch):
    assert build.load(NAME)
    folder = built_in()
    (folder / f"{NAME}.json").chmod(0o666)
    start_anew(monkeypatch)
    assert not build.load(NAME)
    assert "is not loaded: every user can write to it" in build.reason(NAME)
    assert len(builds) == 1
    assert built_in() == folder


def test_another_source_gpu_or_nvrtc_is_another_build(builds, source, monkeypatch, tools, toolkit):
    def key():
        return build._key_of_cuda(LIBRARIES[NAME], toolchain.toolchain())

    keys = [key(), key()]
    for other in (
        CudaTools(toolkit, "12.8", ((9, 0),), ()),
        CudaTools(toolkit, "12.6", ((8, 6), (9, 0)), ()),
        CudaTools(toolkit, "12.6", ((9, 0),), ("STYLEFORGE_RACECHECK",)),
    ):
        monkeypatch.setattr(build, "cuda_tools", lambda found=other: found)
        keys.append(key())
    monkeypatch.setattr(build, "cuda_tools", lambda: tools)
    source.write_text(SCALE + "// edited\n")
    keys.append(key())
    assert len(set(keys)) == len(keys) - 1


def test_the_first_error_of_the_compiler_is_the_reason_and_is_remembered(
    builds, source, monkeypatch
):
    source.write_text(SCALE.replace("factor;", "undeclared_name;"))
    assert not build.load(NAME)
    assert build.reason(NAME).startswith("build failed: ")
    assert "undeclared_name" in build.reason(NAME)
    start_anew(monkeypatch)
    assert not build.load(NAME)
    assert len(builds) == 1


def test_a_library_describes_itself_with_the_compiler_of_this_machine(toolkit, tmp_path):
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", compiler)
        tools = CudaTools(toolkit, "12.6", ((9, 0),), ())
        told = compile_worker._describe(LIBRARIES["operations"], tools, tmp_path)
    assert {part["source"] for part in told.values() if "source" in part} == {
        "conv2d.cu",
        "instance_norm.cu",
    }
