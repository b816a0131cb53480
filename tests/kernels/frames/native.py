"""The native texture of the CPU, for tests of it."""

from __future__ import annotations

import pytest

from kernels.frames.cpu_texture import CpuTexture, cpu_texture
from kernels.jit import build
from kernels.ops.table import TEXTURE


def native_texture() -> CpuTexture:
    """The library, once it is built; skips the test where nothing can be built.

    Raises:
        AssertionError: It was built and failed its self-test.
    """
    found = cpu_texture()
    if found is None:
        reason = build.reason(TEXTURE)
        assert "self-test" not in reason, reason
        pytest.skip(reason)
    return found
