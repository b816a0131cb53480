"""`styleforge gpu`: replaces PyTorch by the build that uses this machine's NVIDIA card.

This module never imports PyTorch, but queries it in a separate process. The command replaces
PyTorch's libraries, and Windows locks loaded libraries.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, requires
from importlib.util import find_spec
from pathlib import Path

import psutil

from app.commands.reporting import print_line
from app.errors import StyleForgeError
from app.exit_status import DONE
from utils.nvidia_driver import NvidiaDriver, find_driver

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"  # in a checkout: the versions installed there
INDEX = "https://download.pytorch.org/whl"  # PyTorch's own; PyPI has only the CPU build for Windows

ASK_TORCH = """
import json, torch
usable = torch.cuda.is_available()
name = torch.cuda.get_device_name() if usable else ""
print(json.dumps([torch.__version__, torch.version.cuda or "", name]))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """The PyTorch of this environment.

    Attributes:
        cuda: The CUDA release of its build; empty for a CPU build.
        gpu: Name of the GPU it uses; empty if it uses none.
    """

    version: str
    cuda: str
    gpu: str


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "gpu",
        help="install the PyTorch that uses this machine's NVIDIA card",
        description="Replaces PyTorch's CPU build, in the environment where StyleForge is "
        "installed, with the build for the NVIDIA driver, a download of gigabytes. "
        "Prints the command first, and waits until all StyleForge windows are closed.",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the command")


def run(args: argparse.Namespace) -> int:
    """Install the PyTorch for this machine's GPU, and check that it uses the GPU.

    Raises:
        StyleForgeError: If there is no GPU, or it is still unusable; the message says why.
    """
    if sys.platform == "darwin":
        raise StyleForgeError(
            "PyTorch cannot use an NVIDIA card on macOS, so there is nothing to install"
        )
    driver = find_driver()
    if driver is None:
        raise StyleForgeError(
            "no NVIDIA driver with a card was found; if there is a card, install its driver first"
        )
    before = ask_torch()
    if before and before.gpu:
        build = f"PyTorch {before.version}, CUDA {before.cuda}"
        print_line(f"PyTorch already uses {before.gpu}: {build}")
        return DONE
    command = install_command(driver)
    print_line(subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command))
    if args.dry_run:
        return DONE
    if spec := find_spec("torch"):
        wait_for_others(Path(spec.origin or "").parent)
    if status := subprocess.run(command, check=False).returncode:
        raise StyleForgeError(f"could not replace PyTorch: the command ended with status {status}")
    after = ask_torch()
    if after is None:
        raise StyleForgeError("the new PyTorch cannot be imported; run this command again")
    if not after.gpu:
        build = f"CUDA {after.cuda}" if after.cuda else "a CPU build"
        raise StyleForgeError(
            f"PyTorch {after.version} ({build}) is installed but does not use the card; the "
            f"driver supports CUDA {_dotted(driver.cuda)}: a newer driver may help"
        )
    print_line(f"PyTorch now uses {after.gpu}: PyTorch {after.version}, CUDA {after.cuda}")
    return DONE


def ask_torch() -> Installed | None:
    """Query PyTorch in a separate process; return None if it cannot be imported."""
    # -P: a file in the working directory must not shadow PyTorch.
    command = [sys.executable, "-P", "-c", ASK_TORCH]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Installed(*json.loads(done.stdout.splitlines()[-1])) if not done.returncode else None


def install_command(driver: NvidiaDriver) -> list[str]:
    """Return the command that replaces PyTorch; uv chooses the build itself, pip gets its name.

    Raises:
        StyleForgeError: If neither uv nor pip is installed, or pip has no build for this driver.
    """
    wanted = [torch_requirement()]
    if CONSTRAINTS.is_file():
        wanted += ["--constraint", str(CONSTRAINTS)]
    if uv := find_uv():
        command = [uv, "pip", "install", "--python", sys.executable, "--torch-backend", "auto"]
        return [*command, "--reinstall-package", "torch", *wanted]
    if not _has_pip():
        raise StyleForgeError(
            "found neither uv nor pip: install uv, put it on the PATH, and run this command again"
        )
    # Between two builds of the same version, pip would keep the installed one.
    command = [sys.executable, "-m", "pip", "install", "--force-reinstall"]
    return [*command, "--index-url", f"{INDEX}/{build_for(driver)}", *wanted]


def _has_pip() -> bool:
    """Return whether pip is installed; the import system cannot tell, as setuptools hooks in."""
    return any(distributions(name="pip"))


def torch_requirement() -> str:
    """Return the supported versions of PyTorch, such as "torch<2.16,>=2.9"."""
    try:
        needed = requires("styleforge") or []
    except PackageNotFoundError as error:
        raise StyleForgeError("StyleForge is not installed in this environment") from error
    return next(line for line in needed if re.match(r"torch\b", line))


def build_for(driver: NvidiaDriver) -> str:
    """Return the part of PyTorch's index with the build for a driver and its GPUs.

    Every version since 2.9 has both builds. CUDA 12.6 runs on every CUDA 12 driver and on GPUs up
    to Hopper, CUDA 13.0 on GPUs since Turing.

    Raises:
        StyleForgeError: If the driver is too old.
    """
    capabilities = driver.capabilities or ((7, 5),)
    oldest, newest = min(capabilities), max(capabilities)
    if driver.cuda >= (13, 0) and oldest >= (7, 5):
        return "cu130"
    least = (13, 0) if newest >= (10, 0) else (12, 0)
    if driver.cuda < least:
        raise StyleForgeError(
            f"the NVIDIA driver supports CUDA {_dotted(driver.cuda)}, but PyTorch for this card "
            f"needs {_dotted(least)} or newer: install a newer driver"
        )
    return "cu126"


def find_uv() -> str | None:
    """Return the path of uv: on the PATH, in this environment, or where an installer puts it."""
    home = Path.home()
    folders = [sysconfig.get_path("scripts"), home / ".local" / "bin", home / ".cargo" / "bin"]
    # elsewhere other users may have write access to the folder around an environment
    if sys.platform == "win32":
        folders.append(Path(sys.prefix).parent)
    return shutil.which("uv") or shutil.which("uv", path=os.pathsep.join(map(str, folders)))


def wait_for_others(folder: Path) -> None:
    """Wait until no other process of this user has loaded a library of PyTorch's `folder`."""
    while others := [process for process in psutil.process_iter() if _uses(process, folder)]:
        names = ", ".join(f"{process.name()} ({process.pid})" for process in others)
        print_line(f"PyTorch is in use. Close StyleForge's window, or end these processes: {names}")
        psutil.wait_procs(others)


def _uses(process: psutil.Process, folder: Path) -> bool:
    """Return whether a process has mapped a file of a folder into its memory."""
    if process.pid == os.getpid():
        return False
    try:
        maps = process.memory_maps()
    except (psutil.Error, OSError):  # another user's process, or it has ended
        return False
    return any(Path(each.path).is_relative_to(folder) for each in maps)


def _dotted(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"
