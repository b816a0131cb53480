"""Records the library's description of the network's kernels, which the model needs.

It compiles the description as tools/prebuild/cuda.py does: with a compiler from PyPI, and no GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.jit.libraries import LIBRARIES
from tools.prebuild import cuda

RELEASE = "12.6"  # CUDA release, whose headers the description includes


def described(tools: Path = cuda.TOOLS) -> dict[str, Any]:
    """Return the description for calibration.json, of the current sources.

    Args:
        tools: The folder of the unpacked compilers and headers; filled on the first call.

    Raises:
        subprocess.CalledProcessError: If a wheel cannot be installed, or the description not
            compiled.
    """
    tools = tools.resolve()
    toolkit = cuda.unpacked(RELEASE, tools)
    return without_names(cuda.describe(LIBRARIES["network"], toolkit, tools))


def without_names(told: Any) -> Any:
    """Return a description without structs and the names of kernels."""
    if not isinstance(told, Mapping):
        return told
    return {
        key: {} if key == "kernels" else without_names(value)
        for key, value in told.items()
        if key != "structs"
    }
