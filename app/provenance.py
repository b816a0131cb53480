"""Records where a measurement comes from: machine, versions and commit."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from app.styles.pack import Style
from app.version import styleforge_version
from kernels.network.dispatch import tuning
from utils.devices import cpu_name
from utils.files.byte_planes import unpack


def report_header(device: torch.device, styles: Iterable[Style] = ()) -> dict[str, Any]:
    """Return the first entries of every stored report: date, machine, versions, commit and weights.

    Args:
        device: where the report is measured.
        styles: the measured styles; without any, the report has no weights.

    Returns:
        A JSON-serializable dict. `weights` has the sha256 of each file by "<key>/<file name>";
        `tuned`, where layers were tuned for the GPU, tells which, or why they are not used.
    """
    files = [(s.key, path) for s in styles for path in (s.weights, s.lite) if path is not None]
    weights = {f"{key}/{path.name}": _sha256(path) for key, path in files}
    return {
        "taken": datetime.now(UTC).date().isoformat(),
        "machine": machine_info(device),
        "versions": version_info(),
        "commit": commit(),
        **({"tuned": tuned} if (tuned := tuning(device)) else {}),
        **({"weights": weights} if weights else {}),
    }


def machine_info(device: torch.device) -> dict[str, Any]:
    """Return the properties of the machine that measurements depend on."""
    gpu = torch.cuda.get_device_properties(device) if device.type == "cuda" else None
    return {
        "system": platform.platform(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": gpu.name if gpu else None,
        "capability": f"{gpu.major}.{gpu.minor}" if gpu else None,
        "driver": _driver() if gpu else None,
        "tf32": torch.backends.cudnn.allow_tf32 if gpu else None,
    }


def version_info() -> dict[str, Any]:
    """Return the versions of StyleForge, Python, PyTorch, CUDA and cuDNN."""
    return {
        "styleforge": styleforge_version(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None,
    }


def commit() -> str | None:
    """Return the commit of the running files, with "+" appended if any was changed since.

    The variable STYLEFORGE_COMMIT overrides it, for files copied to another machine. None outside
    of a checkout.
    """
    if override := os.environ.get("STYLEFORGE_COMMIT"):
        return override
    git = "git", "-C", str(Path(__file__).parent)
    if _command_output(*git, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None  # installed, possibly inside another repository
    # Reports and their tables are results; changing them does not change the program.
    files = ":/", ":(top,exclude)benchmarks", ":(top,exclude)docs/benchmarks.md"
    changed = _command_output(*git, "status", "--porcelain", "--untracked-files=no", "--", *files)
    return f"{_command_output(*git, 'rev-parse', '--short=12', 'HEAD')}{'+' if changed else ''}"


def _sha256(path: Path) -> str:
    return hashlib.sha256(unpack(path.read_bytes())).hexdigest()


def _driver() -> str | None:
    """Version of the NVIDIA driver, the same for all GPUs; nvidia-smi prints a line for each."""
    output = _command_output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return None if output is None else output.partition("\n")[0]


def _command_output(*command: str) -> str | None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout.strip()
    return None
