"""The native sources and headers of `kernels/`, by file name."""

from __future__ import annotations

from pathlib import Path

from kernels.jit.libraries import FOLDER, LIBRARIES


def source(name: str) -> Path:
    """Return the source with this file name, such as "loss.cu"."""
    (found,) = (path for each in LIBRARIES.values() for path in each.sources if path.name == name)
    return found


def headers() -> list[Path]:
    """Return every header of ours."""
    return [path for path in FOLDER.rglob("*") if path.suffix in (".h", ".cuh")]
