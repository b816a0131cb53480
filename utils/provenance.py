"""Records the conditions of a measurement: the machine, and the commit of the running files."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from utils.devices import cpu_name
from utils.tf32 import convolutions_use_tf32


def machine_info(device: torch.device) -> dict[str, Any]:
    gpu = torch.cuda.get_device_properties(device) if device.type == "cuda" else None
    return {
        "system": platform.platform(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": gpu.name if gpu else None,
        "capability": f"{gpu.major}.{gpu.minor}" if gpu else None,
        "driver": _driver() if gpu else None,
        "tf32": convolutions_use_tf32() if gpu else None,
    }


def commit_of(file: Path) -> str | None:
    """Return the running files' commit, by one of them, with "+" if any has changed since.

    STYLEFORGE_COMMIT overrides it, for files copied to another machine. Return None outside a
    checkout.
    """
    if override := os.environ.get("STYLEFORGE_COMMIT"):
        return override
    git = "git", "-C", str(file.parent)
    if _command_output(*git, "ls-files", "--error-unmatch", file.name) is None:
        return None  # installed, possibly inside another repository
    # Reports and their tables are results; changing them does not change the program.
    results = (
        "benchmarks/reports",
        "docs/reference/benchmarks.md",
        "docs/reference/kernel_fusion/library-benchmarks.md",
    )
    files = ":/", *(f":(top,exclude){name}" for name in results)
    changed = _command_output(*git, "status", "--porcelain", "--untracked-files=no", "--", *files)
    return f"{_command_output(*git, 'rev-parse', '--short=12', 'HEAD')}{'+' if changed else ''}"


def _driver() -> str | None:
    """Return the version of the NVIDIA driver; nvidia-smi prints the same line for each GPU."""
    output = _command_output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return None if output is None else output.partition("\n")[0]


def _command_output(*command: str) -> str | None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout.strip()
    return None
