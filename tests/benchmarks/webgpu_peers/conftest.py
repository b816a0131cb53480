"""The software GPU of the shaders' tests."""

from __future__ import annotations

from tests.kernels.network.webgpu.conftest import adapter as adapter
from tests.kernels.network.webgpu.conftest import device as device
