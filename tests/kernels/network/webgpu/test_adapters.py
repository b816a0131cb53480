"""Every way in which a GPU is missing is a reason in words."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kernels.network.webgpu import adapters, library
from kernels.network.webgpu.device import Device, open_device
from kernels.network.webgpu.library import WebGpuError, in_words


class GpuError(Exception):
    """Takes the place of wgpu's own."""


def fake_adapter(name: str, kind: str, backend: str = "Vulkan") -> Any:
    def refuse(**_: Any) -> None:
        raise RuntimeError("Request device failed (3): no\nreason")

    limits = dict.fromkeys(adapters.BUFFER_LIMITS, 1 << 27)
    info = {
        "device": name, "adapter_type": kind, "backend_type": backend, "description": "driver 1",
    }  # fmt: skip
    return SimpleNamespace(
        info=info, features={"shader-f16"}, limits=limits, request_device_sync=refuse
    )


@pytest.fixture
def found(monkeypatch):
    """Adapters that take the place of the machine's."""
    handles: list[Any] = []
    gpu = SimpleNamespace(enumerate_adapters_sync=lambda: handles)
    fake = SimpleNamespace(gpu=gpu, GPUError=GpuError)
    monkeypatch.setattr(library, "wgpu", lambda: fake)
    monkeypatch.setattr(adapters, "wgpu", lambda: fake)
    monkeypatch.setattr("kernels.network.webgpu.device.wgpu", lambda: fake)
    return handles


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (ModuleNotFoundError("No module named 'wgpu'"), "not installed"),
        (OSError("libwgpu_native.so: wrong architecture"), "wrong architecture"),
        (RuntimeError("could not find the\nwgpu library"), "could not find the wgpu library"),
    ],
)
def test_a_package_that_is_missing_or_broken_is_a_reason(monkeypatch, error, word):
    def fail(name: str) -> None:
        raise error

    library.wgpu.cache_clear()
    monkeypatch.setattr(importlib, "import_module", fail)
    assert word in adapters.why_none()
    with pytest.raises(WebGpuError, match=word):
        open_device()


def test_a_machine_without_adapters_is_a_reason(found):
    assert "driver" in adapters.why_none()
    with pytest.raises(WebGpuError, match="driver"):
        open_device()


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Mesa is Linux's")
def test_listing_the_gpus_of_a_server_prints_nothing():
    names = {"XDG_RUNTIME_DIR", "NODEVICE_SELECT"}
    environment = {key: value for key, value in os.environ.items() if key not in names}
    code = "from kernels.network.webgpu.adapters import adapters; print(len(adapters()))"
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) >= 1
    assert ran.stderr == ""


def test_software_is_used_only_by_name(found):
    found.append(fake_adapter("llvmpipe (LLVM 15)", "CPU"))
    assert "driver" in adapters.why_none()
    with pytest.raises(WebGpuError, match="driver"):
        open_device()
    assert adapters.named("LLVMpipe").software
    assert adapters.named(0).software


def test_hardware_comes_first_and_other_backends_are_left_out(found):
    found += [
        fake_adapter("llvmpipe", "CPU"),
        fake_adapter("Radeon", "IntegratedGPU"),
        fake_adapter("Radeon", "IntegratedGPU", "OpenGL"),
        fake_adapter("Arc", "DiscreteGPU"),
    ]
    listed = adapters.adapters()
    assert [each.name for each in listed] == ["Arc", "Radeon", "llvmpipe"]
    assert adapters.why_none() == ""
    assert adapters.hardware(listed).name == "Arc"
    assert adapters.named(1).name == "Radeon"
    assert listed[0].half
    assert not listed[0].timed


@pytest.mark.parametrize("choice", [-1, 1, "GeForce"])
def test_an_unknown_gpu_is_an_error(found, choice):
    found.append(fake_adapter("Arc", "DiscreteGPU"))
    with pytest.raises(WebGpuError, match=str(choice)):
        adapters.named(choice)


def test_a_refused_device_is_an_error_in_one_line(found):
    found.append(fake_adapter("Arc", "DiscreteGPU"))
    with pytest.raises(WebGpuError) as caught:
        Device(adapters.adapters()[0])
    assert "no reason" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (MemoryError(), "too little memory"),
        (GpuError("Not enough memory left."), "too little memory"),
        (GpuError("Parent device is lost"), "lost"),
        (GpuError("Validation Error"), "refused a command: Validation Error"),
    ],
)
def test_failures_of_wgpu_are_one_class_of_errors(found, error, word):
    with pytest.raises(WebGpuError, match=word), in_words():
        raise error
