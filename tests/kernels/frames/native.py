"""The CPU's native texture, for its tests."""

from __future__ import annotations

import pytest

from kernels.frames.cpu_texture import CpuTexture, cpu_texture
from kernels.jit import build
from kernels.table.names import TEXTURE


def native_texture() -> CpuTexture:
    """Return the library once it is built; skip the test if nothing can be built.

    Raises:
        AssertionError: If it was built but failed its self-test.
    """
    found = cpu_texture()
    if found is None:
        reason = build.reason(TEXTURE)
        assert "self-test" not in reason, reason
        pytest.skip(reason)
    return found
