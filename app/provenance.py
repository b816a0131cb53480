"""Provenance of a measurement: machine, versions and commit."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from app.styles.pack import Style
from app.version import styleforge_version
from kernels.network.dispatch import tuning
from utils.files.byte_planes import unpack
from utils.provenance import commit_of, machine_info


def report_header(device: torch.device, styles: Iterable[Style] = ()) -> dict[str, Any]:
    """Return the first entries of every stored report, JSON-serializable.

    They are date, machine, versions, commit and `weights`: the sha256 of each file of `styles` by
    "<key>/<file name>", absent without styles. If layers were tuned for the GPU, `tuned` names
    them, or says why they are not used.
    """
    files = [(s.key, path) for s in styles for path in (s.weights, s.lite) if path is not None]
    weights = {f"{key}/{path.name}": digest_of(path) for key, path in files}
    return {
        "taken": datetime.now(UTC).date().isoformat(),
        "machine": machine_info(device),
        "versions": version_info(),
        "commit": commit(),
        **({"tuned": tuned} if (tuned := tuning(device)) else {}),
        **({"weights": weights} if weights else {}),
    }


def version_info() -> dict[str, Any]:
    return {
        "styleforge": styleforge_version(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None,
    }


def commit() -> str | None:
    return commit_of(Path(__file__))


def digest_of(path: Path) -> str:
    """Return the sha256 of a weights file in hexadecimal; for a packed file, of its contents."""
    return hashlib.sha256(unpack(path.read_bytes())).hexdigest()
