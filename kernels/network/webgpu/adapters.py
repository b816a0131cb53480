"""Lists the GPUs that WebGPU reaches, and explains why there is none."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from kernels.network.webgpu.library import WebGpuError, in_words, wgpu
from utils.translation.texts import tr

# The best first. D3D12 compiles by FXC, which has no f16.
_BACKENDS = {"win32": ("Vulkan", "D3D12"), "darwin": ("Metal", "Vulkan")}.get(
    sys.platform, ("Vulkan",)
)
_KINDS = ("DiscreteGPU", "IntegratedGPU", "Unknown", "CPU")

# Limits that a device raises to the adapter's.
BUFFER_LIMITS = ("max-storage-buffer-binding-size", "max-buffer-size")


@dataclass(frozen=True, slots=True)
class Adapter:
    """A GPU, and the interface that reaches it.

    Attributes:
        name: As its driver reports it.
        backend: "Vulkan", "Metal" or "D3D12".
        driver: Its name and version, if known.
        software: Whether the processor computes, as with llvmpipe, SwiftShader and WARP.
        half: Whether its shaders have f16.
        timed: Whether it measures the time of shaders.
        binding_bytes: The most bytes of a buffer of a shader.
    """

    name: str
    backend: str
    driver: str
    software: bool
    half: bool
    timed: bool
    binding_bytes: int
    handle: Any


def adapters() -> tuple[Adapter, ...]:
    """Return all GPUs: discrete, integrated, other, then software, each by backend.

    Raises:
        WebGpuError: If wgpu is missing or cannot be loaded.
    """
    library = wgpu()
    with in_words():
        found = library.gpu.enumerate_adapters_sync()
        usable = [each for each in found if each.info["backend_type"] in _BACKENDS]
        return tuple(_adapter(each) for each in sorted(usable, key=_order))


def why_none() -> str:
    """Return why WebGPU reaches no hardware GPU, as a clause; "" if it does."""
    try:
        hardware(adapters())
    except WebGpuError as error:
        return str(error)
    return ""


def hardware(found: tuple[Adapter, ...]) -> Adapter:
    """Return the first GPU that is no software.

    Raises:
        WebGpuError: If there is none.
    """
    for adapter in found:
        if not adapter.software:
            return adapter
    raise WebGpuError(tr("no GPU has a driver for {backends}", backends=" / ".join(_BACKENDS)))


def named(choice: int | str) -> Adapter:
    """Return the GPU of an index in `adapters`, or the first one whose name contains a text.

    Raises:
        WebGpuError: If there is none.
    """
    found = adapters()
    if isinstance(choice, int):
        matching = found[choice : choice + 1] if choice >= 0 else ()
    else:
        matching = tuple(each for each in found if choice.lower() in each.name.lower())
    if not matching:
        raise WebGpuError(tr("WebGPU finds no GPU '{name}'", name=choice))
    return matching[0]


def _adapter(handle: Any) -> Adapter:
    info, features, limits = handle.info, handle.features, handle.limits
    return Adapter(
        name=str(info["device"]),
        backend=str(info["backend_type"]),
        driver=str(info["description"]),
        software=info["adapter_type"] == "CPU",
        half="shader-f16" in features,
        timed="timestamp-query" in features,
        binding_bytes=min(int(limits[name]) for name in BUFFER_LIMITS),
        handle=handle,
    )


def _order(handle: Any) -> tuple[int, int]:
    info = handle.info
    kind = info["adapter_type"] if info["adapter_type"] in _KINDS else "Unknown"
    return _KINDS.index(kind), _BACKENDS.index(info["backend_type"])
