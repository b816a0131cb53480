"""A toolkit or wheels provide NVRTC and CUDA's headers, and a message names what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernels.jit import build, cuda_tools
from kernels.jit.cuda_tools import FOR_KERNELS, HEADERS, find_headers, find_toolkit
from kernels.jit.errors import BuildError
from utils.nvidia_driver import NvidiaDriver

NVRTC = """
int nvrtcVersion(int* major, int* minor) { *major = MAJOR; *minor = MINOR; return 0; }
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of files as Linux has them")


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """Set up a machine without a toolkit, whose PyTorch came without CUDA wheels."""
    packages = tmp_path / "site-packages"
    (packages / "torch").mkdir(parents=True)
    monkeypatch.setattr(torch, "__file__", str(packages / "torch" / "__init__.py"))
    monkeypatch.setattr(cuda_tools, "_roots", lambda: [tmp_path / "toolkit"])
    monkeypatch.delenv("STYLEFORGE_RACECHECK", raising=False)
    return tmp_path


@pytest.fixture
def gpus(monkeypatch):
    found = [(9, 0)]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(found))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(found))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: found[index])
    monkeypatch.setattr(cuda_tools, "find_driver", lambda: NvidiaDriver((13, 0), ((9, 0),)))
    return found


def put_nvrtc(folder: Path, release: str = "12.6", builtins: bool = True) -> Path:
    """Compile an NVRTC that only reports its release."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    major, minor = release.split(".")
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / "nvrtc.c", folder / f"libnvrtc.so.{major}"
    source.write_text(NVRTC.replace("MAJOR", major).replace("MINOR", minor))
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    (folder / f"libnvrtc.alt.so.{major}").touch()
    if builtins:
        (folder / f"libnvrtc-builtins.so.{release}").touch()
    return library


def put_headers(folder: Path, *names: str, release: str = "12.6") -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    if "cuda_runtime.h" in names:
        major, minor = map(int, release.split("."))
        text = f"#define CUDART_VERSION  {major * 1000 + minor * 10}\n"
        (folder / "cuda_runtime_api.h").write_text(text)
    return folder


def test_a_toolkit_has_everything(machine):
    library = put_nvrtc(machine / "toolkit/lib64")
    headers = put_headers(machine / "toolkit/include", *HEADERS)
    toolkit, release = find_toolkit()
    assert (toolkit.library, release) == (library, "12.6")
    assert toolkit.builtins == library.with_name("libnvrtc-builtins.so.12.6")
    assert toolkit.headers == find_headers() == (headers,)


def test_headers_below_cccl_and_targets_are_found(machine):
    put_nvrtc(machine / "toolkit/targets/x86_64-linux/lib", "13.0")
    include = machine / "toolkit/targets/x86_64-linux/include"
    put_headers(include, "cuda_runtime.h", "crt/host_config.h", release="13.0")
    put_headers(include / "cccl", "nv/target")
    assert find_toolkit()[0].headers == (include, include / "cccl")


@pytest.mark.parametrize(
    ("libraries", "headers"),
    [
        ("cu13/lib", ["cu13/include"]),
        (
            "cuda_nvrtc/lib",
            ["cuda_runtime/include", "cuda_nvcc/include", "cuda_cccl/include"],
        ),
    ],
    ids=["CUDA 13", "CUDA 12"],
)
def test_wheels_beside_pytorch_have_everything(libraries, headers, machine):
    wheels = machine / "site-packages/nvidia"
    library = put_nvrtc(wheels / libraries)
    folders = [wheels / header for header in headers]
    for header, folder in zip(HEADERS, folders * 3, strict=False):
        put_headers(folder, header)
    toolkit = find_toolkit()[0]
    assert toolkit.library == library
    assert set(toolkit.headers) == set(folders)


def test_a_toolkit_without_nvrtc_lends_headers_of_the_same_release_alone(machine):
    wheels, toolkit = machine / "site-packages/nvidia/cu13", machine / "toolkit/include"
    put_nvrtc(wheels / "lib", "13.0")
    put_headers(wheels / "include", "cuda_runtime.h", release="13.0")
    put_headers(toolkit, *HEADERS, release="12.6")
    with pytest.raises(BuildError, match="host_config"):
        find_toolkit()
    put_headers(toolkit, *HEADERS, release="13.1")
    assert find_toolkit()[0].headers == (wheels / "include", toolkit)


def test_without_nvrtc_the_reason_says_what_to_install(machine):
    put_headers(machine / "toolkit/include", *HEADERS)
    with pytest.raises(BuildError, match=r"^no CUDA compiler found: install the CUDA toolkit"):
        find_toolkit()


@pytest.mark.parametrize(
    ("release", "header", "wheel"),
    [
        ("12.6", "crt/host_config.h", "nvidia-cuda-nvcc-cu12==12.6.*"),
        ("12.6", "nv/target", "nvidia-cuda-cccl-cu12==12.6.*"),
        ("13.0", "crt/host_config.h", "nvidia-cuda-crt==13.0.*"),
    ],
)
def test_a_header_that_is_missing_is_named_with_its_wheel(release, header, wheel, machine):
    put_nvrtc(machine / "toolkit/lib64", release)
    names = [name for name in HEADERS if name != header]
    put_headers(machine / "toolkit/include", *names, release=release)
    with pytest.raises(BuildError) as caught:
        find_toolkit()
    assert str(caught.value) == (
        f"CUDA's header {header} not found: install the CUDA toolkit {release} "
        f"or, with pip, {wheel}"
    )
    with pytest.raises(BuildError, match=f"header {header} not found"):
        find_headers()


def test_kernels_alone_need_the_runtimes_headers_and_no_others(machine):
    put_nvrtc(machine / "toolkit/lib64")
    put_headers(machine / "toolkit/include", *FOR_KERNELS)
    assert find_toolkit(FOR_KERNELS)[0].headers == (machine / "toolkit/include",)
    (machine / "toolkit/include/cuda_runtime.h").unlink()
    with pytest.raises(BuildError, match=r"^CUDA's header cuda_runtime\.h not found"):
        find_toolkit(FOR_KERNELS)


def test_an_nvrtc_without_its_second_library_is_named(machine):
    put_nvrtc(machine / "toolkit/lib64", builtins=False)
    with pytest.raises(BuildError, match=r"libnvrtc\.so\.12 lacks its lib.*\.so\.12\.6$"):
        find_toolkit()


def test_an_nvrtc_that_does_not_load_is_one_sentence(machine):
    folder = machine / "toolkit/lib64"
    folder.mkdir(parents=True)
    (folder / "libnvrtc.so.12").write_bytes(b"no library")
    with pytest.raises(BuildError, match=r"^the CUDA compiler does not load: "):
        find_toolkit()


def test_every_kind_of_gpu_is_compiled_for_once(machine, gpus, monkeypatch):
    put_nvrtc(machine / "toolkit/lib64")
    put_headers(machine / "toolkit/include", *HEADERS)
    gpus[:] = [(9, 0), (8, 6), (9, 0)]
    found = cuda_tools.cuda_tools()
    assert (found.release, found.capabilities, found.defines) == ("12.6", ((8, 6), (9, 0)), ())
    monkeypatch.setenv("STYLEFORGE_RACECHECK", "1")
    assert cuda_tools.cuda_tools().defines == ("STYLEFORGE_RACECHECK",)


def test_an_nvrtc_newer_than_the_driver_is_one_sentence(machine, gpus, monkeypatch):
    put_nvrtc(machine / "toolkit/lib64", "13.0")
    put_headers(machine / "toolkit/include", *HEADERS, release="13.0")
    assert cuda_tools.cuda_tools().release == "13.0"
    monkeypatch.setattr(cuda_tools, "find_driver", lambda: NvidiaDriver((12, 8), ((9, 0),)))
    with pytest.raises(BuildError) as caught:
        cuda_tools.cuda_tools()
    assert str(caught.value) == (
        "NVRTC is from CUDA 13.0, but the NVIDIA driver only supports CUDA 12.8: install a "
        "newer driver"
    )


def test_without_a_gpu_nothing_is_looked_for(gpus):
    gpus.clear()
    with pytest.raises(BuildError, match=r"^no CUDA device$"):
        cuda_tools.cuda_tools()


def test_the_reason_of_the_build_is_that_of_the_tools(machine, gpus, monkeypatch):
    monkeypatch.setenv("STYLEFORGE_BUILD", "1")
    monkeypatch.setenv("STYLEFORGE_CACHE", str(machine / "cache"))
    monkeypatch.setattr(build, "_reasons", {})
    monkeypatch.setattr(build, "toolchain", lambda: build.Toolchain("c++", "digest"))
    assert not build.load("network")
    assert build.reason("network").startswith("no CUDA compiler found: ")
