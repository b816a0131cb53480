"""Says where a figure comes from: the machine, the versions and the commit."""

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

from app.styles.library import Style
from app.version import styleforge_version
from utils.devices import cpu_name


def origin(device: torch.device, styles: Iterable[Style] = ()) -> dict[str, Any]:
    """What every stored report begins with: date, machine, versions, commit and weights.

    Args:
        device: where the figures are measured.
        styles: those that are measured; a report without styles says nothing of weights.

    Returns:
        A table that json can write. `weights` has the sha256 of each file as it is now, by
        "<key>/<file name>".
    """
    files = [(s.key, path) for s in styles for path in (s.weights, s.lite) if path is not None]
    weights = {f"{key}/{path.name}": _sha256(path) for key, path in files}
    return {
        "taken": datetime.now(UTC).date().isoformat(),
        "machine": machine(device),
        "versions": versions(),
        "commit": commit(),
        **({"weights": weights} if weights else {}),
    }


def machine(device: torch.device) -> dict[str, Any]:
    """What the figures depend on, as far as the machine tells."""
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


def versions() -> dict[str, Any]:
    return {
        "styleforge": styleforge_version(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None,
    }


def commit() -> str | None:
    """What STYLEFORGE_COMMIT says, for files copied to another machine; else the commit of the
    files that run, "+" behind it if any was changed since, or None outside a checkout."""
    if told := os.environ.get("STYLEFORGE_COMMIT"):
        return told
    git = "git", "-C", str(Path(__file__).parent)
    if _output(*git, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None  # installed, perhaps inside somebody else's repository
    # Reports and their tables are what measuring writes, not what is measured.
    files = ":/", ":(top,exclude)benchmarks", ":(top,exclude)docs/benchmarks.md"
    changed = _output(*git, "status", "--porcelain", "--untracked-files=no", "--", *files)
    return f"{_output(*git, 'rev-parse', '--short=12', 'HEAD')}{'+' if changed else ''}"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _driver() -> str | None:
    """The same for all GPUs of a machine, each of which has a line."""
    told = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return None if told is None else told.partition("\n")[0]


def _output(*command: str) -> str | None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout.strip()
    return None
