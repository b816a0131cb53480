"""The GPUs that tests of shaders share: one that computes on the processor, and the real one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import pytest

from kernels.network.webgpu.adapters import Adapter, adapters, hardware
from kernels.network.webgpu.device import Device
from kernels.network.webgpu.library import WebGpuError
from tests.helpers.software_gpu import is_software


@pytest.fixture(
    scope="session",
    params=["software", pytest.param("hardware", marks=[pytest.mark.gpu, pytest.mark.full])],
)
def adapter(request) -> Adapter:
    """Return a GPU. On Linux, the absence of the software GPU is a failure."""
    try:
        found = adapters()
        return hardware(found) if request.param == "hardware" else _software(found)
    except WebGpuError as error:
        if request.param == "software" and sys.platform.startswith("linux"):
            pytest.fail(f"{error}; `make test` installs Mesa's on Debian as root")
        pytest.skip(str(error))


def _software(found: Sequence[Adapter]) -> Adapter:
    for each in found:
        if is_software(each):
            return each
    raise WebGpuError("no software GPU")


@pytest.fixture(scope="session")
def device(adapter) -> Iterator[Device]:
    device = Device(adapter)
    yield device
    device.close()


@pytest.fixture(autouse=True)
def f16(request) -> None:
    """Skip tests with `half` on GPUs without FP16."""
    params = getattr(getattr(request.node, "callspec", None), "params", {})
    if not params.get("half") or "device" not in request.fixturenames:
        return
    if not request.getfixturevalue("device").adapter.half:
        pytest.skip("this GPU has no FP16 in shaders")
