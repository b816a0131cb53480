"""The OpenMP library of PyTorch for Windows, extracted from its wheel.

`python -m tests.kernels.images.openmp` downloads the wheel (120 MB) and keeps only that file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch

from utils.files.atomic import atomic_write

WINDOWS = Path(__file__).resolve().parents[3] / "build" / "openmp" / "libiomp5md.dll"


def fetch() -> None:
    """Download the wheel of the installed PyTorch version and write WINDOWS."""
    version = torch.__version__.partition("+")[0]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", f"torch=={version}", "--no-deps"]
        command += ["--platform", "win_amd64", "--only-binary", ":all:", "--dest", folder]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("torch-*.whl")
        with zipfile.ZipFile(wheel) as members:
            library = members.read(f"torch/lib/{WINDOWS.name}")
    atomic_write(WINDOWS, library)


if __name__ == "__main__":
    fetch()
