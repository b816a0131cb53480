"""Lists the devices that PyTorch can compute on, and explains why a GPU is missing."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from utils.translation.texts import mark, tr

NO_GPU = mark("no CUDA device")  # reason for computing on the CPU on a machine without a GPU


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """A device to choose: `key` is "auto", "cpu" or "cuda:N", `title` its label on screen."""

    key: str
    title: str


def devices() -> tuple[DeviceChoice, ...]:
    gpus = (
        DeviceChoice(f"cuda:{n}", torch.cuda.get_device_name(n))
        for n in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    )
    return (
        DeviceChoice("auto", "Automatic"),
        DeviceChoice("cpu", f"CPU ({cpu_name()})"),
        *gpus,
    )


def resolve(key: str) -> torch.device:
    """Convert "auto", "cpu", "cuda" or "cuda:N" to a device.

    Raises:
        ValueError: If the device does not exist; the message includes the reason, if known.
    """
    if key == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    known = {choice.key for choice in devices()}
    if key == "cuda":
        key = "cuda:0"
    if key not in known:
        why = cuda_unavailable_reason()
        if why:
            raise ValueError(tr("there is no device '{name}': {reason}", name=key, reason=tr(why)))
        raise ValueError(tr("there is no device '{name}'", name=key))
    return torch.device(key)


def title(device: torch.device) -> str:
    """Return the label of a device: "CPU", or the GPU's name with its index."""
    if device.type == "cpu":
        return "CPU"
    return f"{torch.cuda.get_device_name(device)} ({device})"


def cuda_unavailable_reason() -> str:
    """Return why PyTorch cannot use a GPU, as a clause; "" if it can.

    The clause names a CPU build of PyTorch next to an NVIDIA driver, which the user can replace.
    Without a GPU, NO_GPU itself is returned, which is translated where it is shown.
    """
    if _can_use_gpu():
        return ""
    if not _nvidia_driver():
        return NO_GPU
    if torch.version.cuda is None:
        return tr(
            "there is an NVIDIA driver, but PyTorch {version} is a CPU build",
            version=torch.__version__,
        )
    return tr(
        "PyTorch {version} (CUDA {cuda}) cannot use the NVIDIA driver: "
        "it is too old or sees no device",
        version=torch.__version__,
        cuda=torch.version.cuda,
    )


@cache
def cpu_name() -> str:
    """Return the processor's model name, or its architecture if the name cannot be read."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


# Both are constant while the program runs, and every change of a setting reads them.


@cache
def _can_use_gpu() -> bool:
    return torch.cuda.is_available()


@cache
def _nvidia_driver() -> bool:
    return bool(shutil.which("nvidia-smi")) or Path("/proc/driver/nvidia/version").exists()
