"""The facts about a machine that belong to a shared measurement."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import torch

from app.version import styleforge_version
from kernels.network.webgpu.library import WebGpuError
from models.webgpu_devices import found
from utils.devices import cpu_name

# Distributions whose versions belong to a measurement, with the names that people know.
_PACKAGES = {"openvino": "OpenVINO", "onnxruntime": "ONNX Runtime"}


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine and the programs that were measured on it.

    Attributes:
        processor: The name of the CPU.
        gpus: The names of the GPUs, each once; software GPUs are none.
        system: The operating system, with its version.
        versions: "StyleForge 0.1.0", "PyTorch 2.9.0" and the installed runtimes.
    """

    processor: str
    gpus: tuple[str, ...]
    system: str
    versions: tuple[str, ...]


def this_machine() -> Machine:
    """Return this machine's facts; this may wake a GPU and take a second."""
    return Machine(cpu_name(), tuple(dict.fromkeys(_gpus())), system_name(), tuple(_versions()))


def system_name() -> str:
    """Return the name of the operating system: "Debian GNU/Linux 12 (bookworm)", "macOS 15.1"."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):  # another system, or a Linux that does not say
        pass
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return f"{platform.system()} {platform.release()}"


def _gpus() -> Iterator[str]:
    if torch.cuda.is_available():
        yield from map(torch.cuda.get_device_name, range(torch.cuda.device_count()))
    try:
        yield from (each.name for each in found() if not each.software)
    except WebGpuError:
        return  # `doctor` says why


def _versions() -> Iterator[str]:
    yield f"StyleForge {styleforge_version()}"
    yield f"PyTorch {torch.__version__}"
    for package, title in _PACKAGES.items():
        try:
            yield f"{title} {version(package)}"
        except PackageNotFoundError:
            continue
