"""The installed release of NVIDIA's driver, as NVML reports it."""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, create_string_buffer

LIBRARY = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
_BYTES = 80  # NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE


def driver_version(library: str = LIBRARY) -> str:
    """Return the driver's version, such as "580.82.07"; "" if NVML is missing or fails."""
    try:
        nvml = ctypes.CDLL(library)
    except OSError:
        return ""
    text = create_string_buffer(_BYTES)
    nvml.nvmlSystemGetDriverVersion.argtypes = [c_char_p, ctypes.c_uint]
    if nvml.nvmlInit_v2():
        return ""
    try:
        failed = nvml.nvmlSystemGetDriverVersion(text, _BYTES)
    finally:
        nvml.nvmlShutdown()
    return "" if failed else text.value.decode("ascii", "replace")
