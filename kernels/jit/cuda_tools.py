"""The tools that compile CUDA sources here: NVRTC, CUDA's headers, and the GPUs to compile for.

They come from a CUDA toolkit, or else from the wheels that PyTorch brought. A toolkit made of
wheels may lack a part that another place has, so headers can come from several places. All have
NVRTC's major release.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from kernels.jit import nvrtc
from kernels.jit.errors import BuildError
from kernels.jit.nvrtc import Toolkit
from utils.devices import NO_GPU
from utils.nvidia_driver import find_driver
from utils.translation.texts import tr

# Headers that the sources' includes need, and the wheel that has each. NVRTC needs only the first;
# a C++ compiler that compiles a description needs all.
HEADERS = {
    "cuda_runtime.h": "nvidia-cuda-runtime",
    "crt/host_config.h": "nvidia-cuda-crt",
    "nv/target": "nvidia-cuda-cccl",
}
_LIBRARY_FOLDERS = ("lib64", "lib", "lib/*-linux-gnu", "targets/*/lib", "bin", "bin/x64")
_INCLUDE_FOLDERS = ("include", "include/cccl", "targets/*/include", "targets/*/include/cccl")
_WINDOWS = sys.platform == "win32"
_LIBRARIES = "nvrtc64_*_0.dll" if _WINDOWS else "libnvrtc.so*"


@dataclass(frozen=True, slots=True)
class Place:
    """A place with parts of CUDA: folders of shared libraries and of headers."""

    libraries: tuple[Path, ...]
    headers: tuple[Path, ...]

    @property
    def nvrtc(self) -> Path | None:
        found = [
            path
            for folder in self.libraries
            for path in folder.glob(_LIBRARIES)
            if ".alt." not in path.name
        ]
        return max(found, key=lambda path: path.name, default=None)

    @property
    def release(self) -> str:
        """The CUDA release of the headers, such as "13.0"; "" if they do not state it."""
        for folder in self.headers:
            header = folder / "cuda_runtime_api.h"
            if header.exists():
                text = header.read_text("utf-8", errors="replace")
                found = re.search(r"^#define\s+CUDART_VERSION\s+(\d+)", text, re.MULTILINE)
                version = int(found[1]) if found else 0
                return f"{version // 1000}.{version % 1000 // 10}"
        return ""


@dataclass(frozen=True, slots=True)
class CudaTools:
    """NVRTC, its CUDA release, such as "13.0", and the compute capabilities to compile for."""

    toolkit: Toolkit
    release: str
    capabilities: tuple[tuple[int, int], ...]
    defines: tuple[str, ...]


# The part of HEADERS that NVRTC needs, which only compiles kernels.
FOR_KERNELS = ("cuda_runtime.h",)


def cuda_tools(headers: Collection[str] = HEADERS) -> CudaTools:
    """Find the tools that compile for this machine's GPUs, with these keys of HEADERS.

    Raises:
        BuildError: If there is no GPU, a part is missing, or NVRTC is newer than the driver.
    """
    if not torch.cuda.is_available():
        raise BuildError(NO_GPU)
    toolkit, release = find_toolkit(headers)
    driver = find_driver()
    if driver is not None and int(release.partition(".")[0]) > driver.cuda[0]:
        raise BuildError(
            tr(
                "NVRTC is from CUDA {version}, but the NVIDIA driver only supports CUDA "
                "{supported}: install a newer driver",
                version=release,
                supported=".".join(map(str, driver.cuda)),
            )
        )
    count = torch.cuda.device_count()
    capabilities = sorted({torch.cuda.get_device_capability(index) for index in range(count)})
    return CudaTools(toolkit, release, tuple(capabilities), cuda_defines())


def cuda_defines() -> tuple[str, ...]:
    """Return the macros for CUDA sources; STYLEFORGE_RACECHECK lets racecheck follow them."""
    return ("STYLEFORGE_RACECHECK",) if "STYLEFORGE_RACECHECK" in os.environ else ()


def find_toolkit(headers: Collection[str] = HEADERS) -> tuple[Toolkit, str]:
    """Return the place of NVRTC and of `headers`, and NVRTC's CUDA release.

    Raises:
        BuildError: If a part is missing or does not load. The message says what to install.
    """
    found = places()
    place = next((place for place in found if place.nvrtc), None)
    if place is None or place.nvrtc is None:
        raise BuildError(tr("no CUDA compiler found: install the CUDA toolkit (NVRTC)"))
    try:
        release = nvrtc.version(place.nvrtc)
    except OSError as error:
        raise BuildError(tr("the CUDA compiler does not load: {error}", error=error)) from error
    major, _, minor = release.partition(".")
    name = f"nvrtc-builtins64_{major}{minor}.dll" if _WINDOWS else f"libnvrtc-builtins.so.{release}"
    builtins = place.nvrtc.parent / name
    if not builtins.exists():
        raise BuildError(
            tr("the CUDA compiler {compiler} lacks its {file}", compiler=place.nvrtc, file=name)
        )
    folders = _headers([place, *(other for other in found if other is not place)], major)
    for header, wheel in HEADERS.items():
        if header in headers and not any((folder / header).exists() for folder in folders):
            raise BuildError(
                tr(
                    "CUDA's header {file} not found: install the CUDA toolkit {version} or, with "
                    "pip, {package}",
                    file=header,
                    version=release,
                    package=f"{_wheel(wheel, int(major))}=={release}.*",
                )
            )
    return Toolkit(place.nvrtc, builtins, folders), release


def find_headers() -> tuple[Path, ...]:
    """Return CUDA's header folders for a C++ compiler.

    Raises:
        BuildError: If a header is missing. The message names it.
    """
    found = places()
    release = next((place.release for place in found if place.release), "")
    folders = _headers(found, release.partition(".")[0])
    for header in HEADERS:
        if not any((folder / header).exists() for folder in folders):
            raise BuildError(
                tr("CUDA's header {file} not found: install the CUDA toolkit", file=header)
            )
    return folders


def nvcc() -> str | None:
    """Return the path of CUDA's compiler program, from PATH or a toolkit."""
    roots = [Path(root) / "bin" for root in _roots()]
    found = [shutil.which("nvcc"), *(shutil.which("nvcc", path=str(root)) for root in roots)]
    return next(filter(None, found), None)


def places() -> list[Place]:
    """Return the toolkits of this machine, then the wheels next to PyTorch."""
    found = [
        Place(tuple(_folders(root, _LIBRARY_FOLDERS)), tuple(_folders(root, _INCLUDE_FOLDERS)))
        for root in _roots()
    ]
    torch_folder = Path(torch.__file__).parent
    wheels = torch_folder.parent / "nvidia"
    names = [*sorted(wheels.glob("cu[0-9]*"), reverse=True), *sorted(wheels.glob("cuda_*"))]
    libraries = [path for name in names for path in _folders(name, ("lib", "bin", "bin/x86_64"))]
    headers = [path for name in names for path in _folders(name, ("include", "include/cccl"))]
    return [*found, Place((*libraries, torch_folder / "lib"), tuple(headers))]


def _roots() -> list[Path]:
    named = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    compiler = shutil.which("nvcc")
    found = [Path(name) for name in named if name]
    if compiler:
        found.append(Path(compiler).resolve().parent.parent)
    if not _WINDOWS:
        found.append(Path("/usr/local/cuda"))  # Linux packages install it here
    return list(dict.fromkeys(path for path in found if path.is_dir()))


def _folders(root: Path, names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        yield from (path for path in sorted(root.glob(name)) if path.is_dir())


def _headers(found: list[Place], major: str) -> tuple[Path, ...]:
    fitting = [place for place in found if place.release.partition(".")[0] == major]
    folders = [
        folder.resolve()
        for place in fitting
        for folder in place.headers
        if any((folder / header).exists() for header in HEADERS)
    ]
    return tuple(dict.fromkeys(folders))


def _wheel(name: str, major: int) -> str:
    """Return PyPI's name for a CUDA wheel; before 13, its C++ headers came with nvcc."""
    if major >= 13:
        return name
    return f"{name.replace('crt', 'nvcc')}-cu{major}"
