"""Takes down what the network's library says of its kernels, which the model needs of them.

It compiles the description as tools/prebuild/cuda.py does: with a compiler from PyPI, and no GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.jit.libraries import LIBRARIES
from tools.prebuild import cuda

RELEASE = "12.6"  # of CUDA, whose headers the description includes


def described(tools: Path = cuda.TOOLS) -> dict[str, Any]:
    """The description in calibration.json, of the sources as they are.

    Args:
        tools: Where compilers and headers are unpacked, or were by an earlier call.

    Raises:
        subprocess.CalledProcessError: A wheel cannot be installed, or the description not compiled.
    """
    tools = tools.resolve()
    toolkit = cuda.unpacked(RELEASE, tools)
    return without_names(cuda.describe(LIBRARIES["network"], toolkit, tools))


def without_names(told: Any) -> Any:
    """A description without structs and the names of kernels."""
    if not isinstance(told, Mapping):
        return told
    return {
        key: {} if key == "kernels" else without_names(value)
        for key, value in told.items()
        if key != "structs"
    }
