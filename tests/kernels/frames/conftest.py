"""The kernels of frame.cu, emulated everywhere, and on a GPU if there is one."""

from __future__ import annotations

import pytest
import torch

from kernels.frames.launchers import FrameKernels, frame_kernels
from kernels.jit.errors import BuildError
from tests.kernels.frames.emulated import EmulatedFrameKernels, compiled


@pytest.fixture(scope="session")
def host(tmp_path_factory):
    try:
        return compiled(tmp_path_factory.mktemp("frames"))
    except BuildError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request) -> torch.device:
    return torch.device(request.param)


@pytest.fixture
def kernels(device, request) -> FrameKernels:
    if device.type == "cpu":
        return EmulatedFrameKernels(request.getfixturevalue("host"))
    request.getfixturevalue("native_kernels")
    found = frame_kernels(device)
    assert found is not None
    return found
