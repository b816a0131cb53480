"""The findings of `styleforge doctor` about GPUs that WebGPU reaches."""

from __future__ import annotations

from collections.abc import Iterator

from app.commands.findings import NOTE, OK, Finding
from app.engine.webgpu_rates import SIZE, load_kept, rates_path
from kernels.network.webgpu.adapters import Adapter, why_none
from kernels.network.webgpu.library import WebGpuError
from models.webgpu.devices import WEBGPU, found


def check_webgpu() -> Iterator[Finding]:
    """Report each GPU with its interface, driver and limits, and its kept rate."""
    try:
        listed = found()
    except WebGpuError as error:
        yield Finding(NOTE, f"WebGPU cannot be used: {error}")
        return
    if why := why_none():
        yield Finding(NOTE, f"WebGPU reaches no GPU: {why}")
    rates = load_kept(rates_path())
    for number, adapter in enumerate(listed):
        yield Finding(OK, f"{WEBGPU}:{number}: {_described(adapter)}")
        rate = next((rate for rate in rates if rate.fits(adapter)), None)
        if rate is not None:
            taken = "Automatic takes it" if rate.gain > 1 else "Automatic takes the CPU"
            yield Finding(
                OK,
                f"{WEBGPU}:{number}: the full network paints {SIZE[0]}x{SIZE[1]} in "
                f"{rate.gpu_ms:.1f} ms, the CPU in {rate.cpu_ms:.1f} ms; {taken}",
            )
        elif not adapter.software:
            yield Finding(
                NOTE,
                f"{WEBGPU}:{number} was not measured yet; the window does it, or "
                "`styleforge doctor --measure`",
            )


def _described(adapter: Adapter) -> str:
    parts = (
        adapter.name,
        adapter.backend,
        f"driver {adapter.driver}" if adapter.driver else "driver unknown",
        "FP16" if adapter.half else "no FP16",
        "measures times" if adapter.timed else "measures no times",
        f"buffers of {adapter.binding_bytes / 1e6:.0f} MB at most",
        "software, used only by name" if adapter.software else "",
    )
    return ", ".join(filter(None, parts))
