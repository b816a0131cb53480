"""The findings of `styleforge doctor` about GPUs that WebGPU reaches."""

from __future__ import annotations

from collections.abc import Iterator

from app.commands.card_rates import CardRatesError
from app.commands.findings import NOTE, OK, Finding
from app.engine.webgpu_rates import SIZE, KeptRate, load_kept, measure, rates_path
from kernels.network.webgpu.adapters import Adapter, why_none
from kernels.network.webgpu.library import WebGpuError
from models.webgpu_devices import WEBGPU, first_hardware, found, webgpu_device


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
            yield Finding(OK, f"{WEBGPU}:{number}: {_gain(rate)}")
        elif not adapter.software:
            yield Finding(
                NOTE,
                f"{WEBGPU}:{number} was not measured yet; the window does it, or "
                "`styleforge doctor --measure`",
            )


def measure_gain() -> str:
    """Measure the first hardware GPU beside the CPU, keep the times, and describe them.

    Raises:
        CardRatesError: If the GPU fails, or the file cannot be written.
    """
    try:
        return _gain(measure(webgpu_device(first_hardware())))
    except (WebGpuError, OSError) as error:
        raise CardRatesError(f"measuring the GPU beside the CPU failed: {error}") from error


def _gain(rate: KeptRate) -> str:
    taken = "GPU" if rate.gain > 1 else "CPU"
    width, height = SIZE
    return (
        f"the full network paints {width}x{height} in {rate.gpu_ms:.1f} ms, the CPU in "
        f"{rate.cpu_ms:.1f} ms: Automatic takes the {taken}"
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
