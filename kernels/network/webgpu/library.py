"""Loads wgpu when it is asked for, and turns its exceptions into sentences.

wgpu has no types, so its objects are Any.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Generator
from typing import Any

from utils.translation.texts import tr


class WebGpuError(RuntimeError):
    """Raised if a GPU cannot be opened, is lost, has too little memory, or refuses a command.

    The message is one sentence, also if wgpu is missing.
    """


@functools.cache
def wgpu() -> Any:
    """Import wgpu, without its OpenGL.

    Raises:
        WebGpuError: If it is missing, or its library cannot be loaded.
    """
    try:
        library = importlib.import_module("wgpu")
        native = importlib.import_module("wgpu.backends.wgpu_native")
    except ImportError as error:
        raise WebGpuError(tr("the package wgpu is not installed")) from error
    except (OSError, RuntimeError) as error:
        raise WebGpuError(
            tr("the package wgpu cannot be loaded: {reason}", reason=_in_one_line(error))
        ) from error
    _silence_mesa()
    with contextlib.suppress(RuntimeError):  # other code of the process has started wgpu before
        native.extras.set_instance_extras(backends=["Primary"])
    return library


def _silence_mesa() -> None:
    """Turn off the layer of Mesa that lists the display's GPU first, where no one is logged in.

    It prints an error whenever GPUs are listed on a server.
    """
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ.setdefault("NODEVICE_SELECT", "1")


@contextlib.contextmanager
def in_words() -> Generator[None]:
    """Raise the exceptions of wgpu's calls as a WebGpuError."""
    try:
        yield
    except WebGpuError:
        raise
    except (wgpu().GPUError, RuntimeError, MemoryError, ValueError) as error:
        raise _error(error) from error


def checked_module(device: Any, code: str) -> Any:
    """Load a shader with the checks of indexes and loops that wgpu adds."""
    return device.create_shader_module(code=code)


def _error(error: Exception) -> WebGpuError:
    said = str(error).lower()
    if isinstance(error, MemoryError) or "out of memory" in said or "not enough memory" in said:
        return WebGpuError(tr("the GPU has too little memory"))
    if "lost" in said or "destroyed" in said:
        return WebGpuError(tr("the connection to the GPU is lost"))
    return WebGpuError(tr("the GPU refused a command: {reason}", reason=_in_one_line(error)))


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
